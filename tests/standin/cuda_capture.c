/* cuda_capture.c - the stand-in driver: what is asked of a stream that captures becomes nodes of a graph. */
#include <stdlib.h>
#include <string.h>

#include "tests/standin/cuda_driver.h"

enum {
	STATUS_NONE,
	STATUS_ACTIVE
};

static uint64_t next_capture = 1;

static void set_tails(struct CUgraphNode_st ***tails, size_t *tail_cnt,
		      struct CUgraphNode_st *const *nodes, size_t cnt)
{
	struct CUgraphNode_st **copy = calloc(cnt ? cnt : 1, sizeof(*copy));

	if (!copy)
		abort();
	if (cnt)
		memcpy(copy, nodes, cnt * sizeof(*copy));
	free(*tails);
	*tails = copy;
	*tail_cnt = cnt;
}

int capture_add(struct CUstream_st *stream, const struct work *w)
{
	struct CUgraphNode_st *node = node_add(stream->capture, w, stream->tails, stream->tail_cnt);

	set_tails(&stream->tails, &stream->tail_cnt, &node, 1);
	return CUDA_OK;
}

void capture_record(struct CUstream_st *stream, struct CUevent_st *event)
{
	event->capture = stream->capture;
	event->recorded = false;
	set_tails(&event->tails, &event->tail_cnt, stream->tails, stream->tail_cnt);
}

/* A stream that waits for an event of a capture takes part in it from then on. */
int capture_wait(struct CUstream_st *stream, struct CUevent_st *event)
{
	struct CUgraphNode_st **all;
	size_t cnt = stream->tail_cnt + event->tail_cnt;

	if (!event->capture || (stream->capture && stream->capture != event->capture))
		return CUDA_CAPTURE_UNSUPPORTED;
	if (!object_find(event->capture, OBJECT_GRAPH) || !event->capture->capturing)
		return CUDA_CAPTURE_UNSUPPORTED;
	stream->capture = event->capture;
	all = calloc(cnt ? cnt : 1, sizeof(*all));
	if (!all)
		abort();
	if (stream->tail_cnt)
		memcpy(all, stream->tails, stream->tail_cnt * sizeof(*all));
	if (event->tail_cnt)
		memcpy(all + stream->tail_cnt, event->tails, event->tail_cnt * sizeof(*all));
	set_tails(&stream->tails, &stream->tail_cnt, all, cnt);
	free(all);
	return CUDA_OK;
}

static int begin(struct CUstream_st *s, int mode)
{
	if (!s)
		return CUDA_INVALID_HANDLE;
	if (mode < 0 || mode > 2)
		return CUDA_INVALID_VALUE;
	if (s->capture)
		return CUDA_ILLEGAL_STATE;
	if (s == s->context->null)
		return CUDA_CAPTURE_UNSUPPORTED;
	s->capture = graph_make();
	s->capture->capturing = true;
	s->capture_origin = true;
	s->capture_id = next_capture++;
	set_tails(&s->tails, &s->tail_cnt, NULL, 0);
	return CUDA_OK;
}

PAIR(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, int mode), begin(STREAM(stream), mode))

static int end(struct CUstream_st *s, CUgraph *graph)
{
	struct CUgraph_st *g;
	struct CUstream_st *other;

	if (!s)
		return CUDA_INVALID_HANDLE;
	if (!graph)
		return CUDA_INVALID_VALUE;
	*graph = NULL;
	if (!s->capture)
		return CUDA_ILLEGAL_STATE;
	if (!s->capture_origin)
		return CUDA_CAPTURE_UNMATCHED;
	g = s->capture;
	for (other = s->context->streams; other; other = other->next)
		if (other->capture == g) {
			other->capture = NULL;
			other->capture_origin = false;
			other->tail_cnt = 0;
		}
	g->capturing = false;
	*graph = g;
	return CUDA_OK;
}

PAIR(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph *graph), end(STREAM(stream), graph))

static int status(const struct CUstream_st *s, int *to)
{
	if (!s)
		return CUDA_INVALID_HANDLE;
	if (!to)
		return CUDA_INVALID_VALUE;
	*to = s->capture ? STATUS_ACTIVE : STATUS_NONE;
	return CUDA_OK;
}

PAIR(cuStreamIsCapturing, _ptsz, (CUstream stream, int *to), status(STREAM(stream), to))

static int info(const struct CUstream_st *s, int *to, uint64_t *id, CUgraph *graph,
		const CUgraphNode **nodes, size_t *cnt)
{
	int r = status(s, to);

	if (r || !s->capture)
		return r;
	if (id)
		*id = s->capture_id;
	if (graph)
		*graph = s->capture;
	if (nodes)
		*nodes = s->tails;
	if (cnt)
		*cnt = s->tail_cnt;
	return CUDA_OK;
}

PAIR(cuStreamGetCaptureInfo_v2, _ptsz,
     (CUstream stream, int *to, uint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
      size_t *cnt),
     info(STREAM(stream), to, id, graph, nodes, cnt))

static int info_edges(const struct CUstream_st *s, int *to, uint64_t *id, CUgraph *graph,
		      const CUgraphNode **nodes, const void **edges, size_t *cnt)
{
	if (edges)
		*edges = NULL;
	return info(s, to, id, graph, nodes, cnt);
}

PAIR(cuStreamGetCaptureInfo_v3, _ptsz,
     (CUstream stream, int *to, uint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
      const void **edges, size_t *cnt),
     info_edges(STREAM(stream), to, id, graph, nodes, edges, cnt))

static int exchange_mode(int *mode)
{
	static __thread int own;
	int before = own;

	if (!mode || *mode < 0 || *mode > 2)
		return CUDA_INVALID_VALUE;
	own = *mode;
	*mode = before;
	return CUDA_OK;
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
	return CALL(exchange_mode(mode));
}
