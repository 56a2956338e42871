/* ranks_messages.c - sends and receives as calls on communicators: names of pairs, groups that are an all-to-all. */
#include "ranks_test.h"

#include "exporters/ranks/rollup_internal.h"

/* Rank 1 of four: what a message of its communicator looks like. */
static const struct comm world = {.hash = 777, .ranks = 4, .rank = 1, .name = "pp"};

static struct collective message(int64_t peer, bool is_send)
{
	return (struct collective){.peer = peer,
				   .is_send = is_send,
				   .hash = 777,
				   .ranks = 4,
				   .comm_rank = 1,
				   .seq = 5,
				   .bytes = 8,
				   .op = "SendRecv"};
}

static struct collective pair(int64_t peer, bool is_send)
{
	struct collective x = message(peer, is_send);

	message_pair(&x);
	return x;
}

static void pair_has_the_name_of_sender_and_receiver(void **state)
{
	struct collective send = pair(2, true), receive = pair(1, false), other;

	(void)state;
	receive = message(1, false); /* of rank 2 */
	receive.comm_rank = 2;
	message_pair(&receive);
	assert_int_equal(send.ranks, 2);
	assert_int_equal(send.seq, 5);
	assert_true(send.hash == receive.hash && send.hash != 777);
	other = pair(2, false);
	assert_true(other.hash != send.hash);
	other = pair(3, true);
	assert_true(other.hash != send.hash);
}

static void pair_without_a_number_or_a_rank_has_no_name(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct collective x = message(2, true);

		*(int64_t *[]){&x.hash, &x.comm_rank, &x.seq}[i] = DATASET_NULL;
		message_pair(&x);
		assert_true(x.hash == DATASET_NULL);
		assert_int_equal(x.ranks, 2);
	}
}

static void name_of_the_communicator_has_the_ranks_of_a_message(void **state)
{
	const struct comm unnamed = {.ranks = 4};
	struct collective send = pair(2, true), receive = pair(0, false), all = message(-1, false);
	char text[64];

	(void)state;
	assert_string_equal(message_comm(&send, &world, text, sizeof(text)), "pp 1 > 2");
	assert_string_equal(message_comm(&receive, &world, text, sizeof(text)), "pp 0 > 1");
	assert_string_equal(message_comm(&receive, &unnamed, text, sizeof(text)), "0 > 1");
	assert_string_equal(message_comm(&all, &world, text, sizeof(text)), "pp");
	assert_null(message_comm(&all, &unnamed, text, sizeof(text)));
	assert_null(message_comm(&all, NULL, text, sizeof(text)));
	send.comm_rank = DATASET_NULL;
	assert_null(message_comm(&send, &world, text, sizeof(text)));
}

/* Sends to and receives from ranks 0, 2, 3, as PyTorch makes them, and to the rank itself. */
static size_t group(struct collective list[16])
{
	for (int64_t i = 0; i < 8; i++)
		list[i] = pair(i / 2, i % 2 == 0);
	return 8;
}

static void group_with_all_ranks_is_an_all_to_all(void **state)
{
	struct collective list[16];
	size_t cnt = group(list);
	int64_t hash;

	(void)state;
	list[0].seq = 41; /* to rank 0, the first other one */
	assert_true(message_is_all_to_all(list, cnt, &world));
	assert_string_equal(list[0].op, "AlltoAll");
	assert_int_equal(list[0].ranks, 4);
	assert_int_equal(list[0].seq, 41);
	assert_int_equal(list[0].bytes, 8);
	assert_int_equal(list[0].peer, -1);
	hash = list[0].hash;
	group(list);
	for (size_t i = 0; i < cnt / 2; i++) { /* in another order */
		struct collective x = list[i];

		list[i] = list[cnt - 1 - i];
		list[cnt - 1 - i] = x;
	}
	list[7].seq = 42;
	assert_true(message_is_all_to_all(list, cnt, &world));
	assert_true(list[0].hash == hash);
	assert_int_equal(list[0].seq, 42);
}

static void all_to_all_of_several_sizes_has_none(void **state)
{
	(void)state;
	for (size_t i = 1; i < 8; i++) {
		struct collective list[16];
		size_t cnt = group(list);

		list[i].bytes = 16;
		assert_true(message_is_all_to_all(list, cnt, &world));
		/* What the rank sends itself does not count. */
		assert_true(list[0].bytes == (i == 2 || i == 3 ? 8 : DATASET_NULL));
	}
}

static void groups_that_are_no_all_to_all_stay(void **state)
{
	struct comm other = world;
	struct collective list[16];
	size_t cnt = group(list);

	(void)state;
	assert_false(message_is_all_to_all(list, cnt - 1, &world)); /* a receive less */
	assert_false(message_is_all_to_all(list, cnt - 2, &world)); /* a rank less */
	assert_false(message_is_all_to_all(list, cnt, NULL));
	other.ranks = 5;
	assert_false(message_is_all_to_all(list, cnt, &other));
	other.ranks = DATASET_NULL;
	assert_false(message_is_all_to_all(list, cnt, &other));
	list[5].comm_at = 1; /* of another communicator */
	assert_false(message_is_all_to_all(list, cnt, &world));
	group(list);
	list[5].peer = -1; /* a collective */
	assert_false(message_is_all_to_all(list, cnt, &world));
	group(list);
	list[0].peer = -1;
	assert_false(message_is_all_to_all(list, cnt, &world));
	group(list);
	list[5].hash = DATASET_NULL;
	assert_false(message_is_all_to_all(list, cnt, &world));
	group(list);
	list[0].hash = DATASET_NULL;
	assert_false(message_is_all_to_all(list, cnt, &world));
	other.ranks = 2;
	list[0] = pair(0, true);
	list[1] = pair(0, false);
	list[2] = pair(1, true);
	list[3] = pair(1, false);
	assert_false(message_is_all_to_all(list, 4, &other)); /* two ranks: a message each */
	assert_string_equal(list[0].op, "SendRecv");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pair_has_the_name_of_sender_and_receiver),
		cmocka_unit_test(pair_without_a_number_or_a_rank_has_no_name),
		cmocka_unit_test(name_of_the_communicator_has_the_ranks_of_a_message),
		cmocka_unit_test(group_with_all_ranks_is_an_all_to_all),
		cmocka_unit_test(all_to_all_of_several_sizes_has_none),
		cmocka_unit_test(groups_that_are_no_all_to_all_stay),
	};

	return cmocka_run_group_tests_name("ranks_messages", tests, NULL, NULL);
}
