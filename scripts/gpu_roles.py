"""gpu_roles.py - scripts/gpu-table's guess at what of a call's arguments is worth recording, from names and types.

What it says is looked over by hand once and then lives in preload/gpu/tables/*.def; forms and roles: preload/wire/gpu.h.
"""
import re

WORDS = 12  # SL_GPU_ARGS

# Questions for errors, versions, strings, limits and settings, what the compiler emits around calls, and loggers:
# asked often, never the subject of a timeline.
SKIP = {
    "cudart": r"^__cuda(Register|Unregister|Init|GetKernel|GetProc|Push|Pop)|^cuda(GetLastError|PeekAtLastError|GetError"
              r"(Name|String)|GetDevice|GetDeviceCount|DriverGetVersion|RuntimeGetVersion|GetDriverEntryPoint\w*|"
              r"GetExportTable|CreateChannelDesc|Logs\w+)$",
    "cuda": r"^cu(GetError(Name|String)|DriverGetVersion|GetProcAddress\w*|GetExportTable|CtxGetApiVersion|CtxGetDevice\w*|"
            r"CtxGetCurrent|DeviceGetCount|DeviceGet|DeviceGetName|DeviceGetAttribute|DeviceGetUuid\w*|DeviceGetLuid|"
            r"DeviceComputeCapability|Logs\w+|Coredump\w+)$",
    "cublas": r"^cublas(GetError|GetStatus(Name|String)|GetVersion\w*|GetProperty|GetCudartVersion|\w*Logger\w*|Xerbla|"
              r"Get(PointerMode|AtomicsMode|MathMode|SmCountTarget|Stream|Emulation|FixedPoint|Environment)\w*|XtGet\w+)$",
    "cublaslt": r"^cublasLt(GetStatus(Name|String)|GetVersion|GetProperty|GetCudartVersion|Logger\w+|HeuristicsCacheGet"
                r"Capacity|DisableCpuInstructionsSetMask|\w+GetAttribute)$",
    "cudnn": r"^cudnn(Get(ErrorString|LastErrorString|Version|CudartVersion|MaxDeviceVersion|Property|Callback|Stream)|"
             r"SetCallback|QueryRuntimeError|\w+VersionCheck|Get\w+Descriptor(_v\d|Ex|SwishBeta)?|Get\w+(MaxCount|MathType|GroupCount|"
             r"ReorderType)|RNNGetClip\w*)$",
    "nccl": r"^p?nccl(GetErrorString|GetLastError|GetVersion|CommGetAsyncError|ResetDebugInit|Param\w+|CommCount|CommCuDevice|"
            r"CommUserRank|CommMemStats|WinGetUserPtr|Team\w+|LLA2A\w+|\w+BarrierCreateRequirement)$",
    "cufft": r"^cufft((Device)?Get(Semantic)?Version|GetProperty|GetPlanProperty\w*|Debug|XtQueryPlan)$",
    "cusparse": r"^cusparse(GetErrorName|GetErrorString|GetVersion|GetProperty|GetStream|GetPointerMode|GetMat\w+|Logger\w+|"
                r"\w*(DnMat|DnVec|SpMat|SpVec|Coo(AoS)?|Csr|Csc|Bsr|BlockedEll)Get\w*)$",
    "cusolver": r"^cusolver(GetProperty|GetVersion|(Dn|Sp)GetStream|Dn\w*Logger\w*|DnGet(?!r[fs])\w+|RfGet\w+|DnIRS(Infos|"
                r"Params)Get\w+|DnXsyevjGet\w+|DnXgesvdjGet\w+)$",
    "cufile": r"^cuFile(UseCount|GetVersion|DriverGetProperties|Get\w+)$",
}

HANDLES = (r"cublas(Lt|Xt)?Handle_t|cublasHandle_t|cudnnHandle_t|cusparseHandle_t|cusolver(Dn|Sp|Rf|Mg)Handle_t|cufftHandle|"
           r"CUcontext|CUgreenCtx")

# (role, type, name, letters of the argument itself, letters of what it may point to: '' none, 'i' or 'p' word)
# The first match of an argument counts; roles in MANY may come several times.
RULES = {
    "": [
        ("stream", r"(cudaStream_t|CUstream)$", r"", "p"),
        ("*stream", r"(cudaStream_t|CUstream) ?\*$", r"", "p"),
        ("event", r"(cudaEvent_t|CUevent)$", r"", "p"),
        ("*event", r"(cudaEvent_t|CUevent) ?\*$", r"", "p"),
        ("graph", r"(cudaGraph_t|CUgraph|cudaGraphExec_t|CUgraphExec)$", r"", "p"),
        ("*graph", r"(cudaGraph_t|CUgraph|cudaGraphExec_t|CUgraphExec) ?\*$", r"", "p"),
        ("node", r"(cudaGraphNode_t|CUgraphNode)$", r"", "p"),
        ("*node", r"^(cudaGraphNode_t|CUgraphNode) ?\*$", r"^(p|ph)(Graph)?Node$|^(ph|p)Graph(Node)$|^phGraphNode$|^pNode$", "p"),
        ("pool", r"(cudaMemPool_t|CUmemoryPool)$", r"", "p"),
        ("*pool", r"(cudaMemPool_t|CUmemoryPool) ?\*$", r"", "p"),
        ("comm", r"^ncclComm_t$", r"", "p"),
        ("*comm", r"^ncclComm_t ?\*$", r"", "p"),
        ("context", rf"^({HANDLES})$", r"", "pi"),
        ("*context", rf"^(cublas(Lt|Xt)?Handle_t|cudnnHandle_t|cusparseHandle_t|cusolver\w+Handle_t|CUcontext|CUgreenCtx) ?\*$", r"", "p"),
        ("*context:i", r"^cufftHandle ?\*$", r"", "p"),
        ("kernel", r"CUfunction$|CUkernel$|cudaFunction_t$|cudaKernel_t$", r"", "p"),
        ("*kernel", r"(CUfunction|CUkernel|cudaFunction_t|cudaKernel_t) ?\*$", r"", "p"),
        ("kernel", r"void ?\*$", r"^(func|f|fun)$", "p"),
    ],
    "cuda": [
        ("kind", r"enum cudaMemcpyKind$|^cudaMemcpyKind$", r"", "i"),
        ("peer", r"^(int|CUdevice)$", r"^(peerDevice|peerDev|dstDevice)$", "i"),
        ("device", r"^(int|CUdevice)$", r"^(device|dev|devId|deviceId|srcDevice|ordinal)$", "i"),
        ("*device:i", r"^(int|CUdevice) ?\*$", r"^(device|dev|pdev|pDevice|pdevice)$", "p"),
        ("*addr", r"^(void ?\*\*|CUdeviceptr(_v\d)? ?\*)$", r"^(devPtr|ptr|dptr|pHost|pp|pitchedDevPtr|pdptr|phost)$", "p"),
        ("dst", r"void ?\*$|CUdeviceptr(_v\d)?$|Array(_t)?$|cudaArray", r"^dst\w*", "pzi"),
        ("src", r"void ?\*$|CUdeviceptr(_v\d)?$|Array(_t)?$|cudaArray", r"^src\w*", "pzi"),
        ("addr", r"void ?\*$|CUdeviceptr(_v\d)?$", r"^(devPtr|ptr|dptr|p|addr|hostPtr|pHost|dev_ptr)$", "pzi"),
        ("addr", r"Array(_t)?$", r"^(array|mipmappedArray|hArray|hMipmappedArray)$", "p"),
        ("bytes", r"", r"^(count|bytesize|ByteCount|size|sizeBytes|bytes|Bytesize|minBytesToKeep)$", "z"),
        ("bytes", r"unsigned int", r"^(ByteCount|bytesize|bytes|Bytesize)$", "i"),
        ("pitch", r"", r"^(dpitch|dstPitch|pitch)$", "zi"),
        ("width", r"", r"^(width|Width|WidthInBytes)$", "zi"),
        ("height", r"", r"^(height|Height)$", "zi"),
        ("value", r"", r"^(value|uc|us|ui)$", "iz"),
        ("count", r"", r"^(N|n)$", "z"),
        ("count", r"", r"^(count|numOps|numAttrs|numExtSems|numDependencies)$", "iz"),
        ("flags", r"", r"^[fF]lags$", "iz"),
    ],
    "cublas": [
        ("op", r"", r"^trans\w?$", "i"),
        ("m", r"", r"^m$", "iz"), ("n", r"", r"^n$", "iz"), ("k", r"", r"^k$", "iz"),
        ("batch", r"", r"^(batchCount|batchSize)$", "iz"),
        ("count", r"", r"^group_count$", "iz"),
        ("atype", r"", r"^Atype$|^xType$", "i"), ("btype", r"", r"^Btype$|^yType$", "i"),
        ("ctype", r"", r"^Ctype$|^resultType$", "i"),
        ("compute", r"", r"^(computeType|executionType|executiontype)$", "i"),
        ("count", r"", r"^nbDevices$", "i"),
        ("m", r"", r"^rows$", "iz"), ("n", r"", r"^cols$", "iz"),
        ("type", r"cudaDataType", r"^(type|scaleType)$", "i"),
    ],
    "cudnn": [
        ("src", r"void ?\*$", r"^(x|xData|srcData|A)$", "p"),
        ("dst", r"void ?\*$", r"^(y|yData|destData|C)$", "p"),
        ("type", r"cudnnDataType_t$", r"", "i"),
        ("batch", r"", r"^(batchSize|n)$", "i"),
        ("op", r"(Mode|Op)_t$", r"^(mode|opTensorOp|reduceTensorOp)$", "i"),
    ],
    # Gradients flow from y to x.
    "cudnn backward": [
        ("src", r"void ?\*$", r"^(dy|dyData|diffData)$", "p"),
        ("dst", r"void ?\*$", r"^(dx|dw|db|dxData|dwData|dweightSpace|dgrid)$", "p"),
        ("op", r"(Mode|Op)_t$", r"^mode$", "i"),
    ],
    "nccl": [
        ("src", r"void ?\*$", r"^sendbuff$", "p"), ("dst", r"void ?\*$", r"^recvbuff$", "p"),
        ("addr", r"void ?\*$", r"^(buff|ptr)$", "p"), ("*addr", r"void ?\*\*$", r"^ptr$", "p"),
        ("count", r"", r"^(count|sendcount|recvcount)$", "z"), ("bytes", r"", r"^size$", "z"),
        ("type", r"ncclDataType_t$", r"", "i"), ("op", r"ncclRedOp_t$", r"", "i"),
        ("*op:i", r"ncclRedOp_t ?\*$", r"", "p"),
        ("root", r"", r"^root$", "i"), ("peer", r"", r"^peer$", "i"),
        ("ranks", r"", r"^(nranks|ndev|nRanks|ndevs)$", "i"), ("rank", r"", r"^(rank|myrank|key)$", "i"),
        ("count", r"", r"^(excludeRanksCount|nId|nDesc)$", "i"), ("flags", r"", r"^(shrinkFlags|winFlags|revokeFlags)$", "i"),
    ],
    "cufft": [
        ("type", r"cufftType$", r"", "i"), ("type", r"cudaDataType$", r"^executiontype$", "i"),
        ("batch", r"", r"^batch$", "iz"), ("op", r"", r"^direction$", "i"),
        ("src", r"\*$", r"^(idata|input|srcPointer)$", "p"), ("dst", r"\*$", r"^(odata|output|dstPointer)$", "p"),
        ("count", r"", r"^rank$", "i"), ("*n", r"long long.*\*$", r"^n$", "p"), ("*n:i", r"^int ?\*$|^int ", r"^n$", "p"),
        ("kind", r"cufftXtCopyType", r"", "i"),
    ],
    "cusparse": [
        ("op", r"cusparseOperation_t", r"^(trans|op)\w*$", "i"),
        ("m", r"", r"^(m|mb|rows)$", "iz"), ("n", r"", r"^(n|nb|cols)$", "iz"), ("k", r"", r"^(k|kb)$", "iz"),
        ("count", r"", r"^(nnz|nnzb|nnzA|size)$", "iz"), ("compute", r"cudaDataType", r"^computeType$", "i"),
        ("type", r"cudaDataType", r"^valueType$", "i"), ("batch", r"", r"^(batchCount|batchSize)$", "i"),
    ],
    "cusolver": [
        ("op", r"", r"^trans$", "i"), ("m", r"", r"^m$", "iz"), ("n", r"", r"^n$", "iz"), ("k", r"", r"^k$", "iz"),
        ("batch", r"", r"^(batchSize|batchCount)$", "iz"), ("count", r"", r"^(nrhs|nnz|nnzA)$", "iz"),
        ("atype", r"cudaDataType", r"^dataTypeA$", "i"), ("btype", r"cudaDataType", r"^dataTypeB$", "i"),
        ("compute", r"cudaDataType", r"^computeType$", "i"),
    ],
    "cufile": [],
}
MANY = {"op", "graph", "*graph", "pitch"}
OTHER = {"cudart": "cuda", "cublaslt": "cublas"}


def letters(abi):
    return [m[0] for m in re.findall(r"m\d+|.", abi)]


def bare(text, name):
    """The type of a parameter: without its name, const, struct."""
    text = re.sub(rf"\b{name}\b(?!.*\b{name}\b)", "", text) if name else text
    text = re.sub(r"\b(const|struct|enum|restrict|__restrict__)\b", "", text)
    text = re.sub(r"\s*\[[^\]]*\]", " *", text)
    return re.sub(r"\s*\*", "*", re.sub(r"\s+", " ", text)).strip()


def guess(library, name, function):
    if re.search(SKIP.get(library, "^$"), re.sub(r"_pt[ds][sz]$", "", name)):
        return "skip"
    special = "cudnn backward" if library == "cudnn" and "Backward" in name else OTHER.get(library, library)
    rules = RULES[""] + RULES.get(special, [])
    abi = letters(function.abi)
    said = []
    sizes = re.match(r"cufft(Plan|MakePlan|GetSize|Estimate)([123])d$", name)
    for i, text in enumerate(function.types):
        parameter = function.names[i]
        kind = bare(text, parameter)
        if sizes and parameter in ("nx", "ny", "nz"):
            role = {"1": {"nx": "n"}, "2": {"nx": "m", "ny": "n"}, "3": {"nx": "m", "ny": "n", "nz": "k"}}[sizes.group(2)][parameter]
            said.append(f"{role}={i + 1}")
            continue
        for role, of_type, of_name, allowed in rules:
            if not re.search(of_type, kind) or not re.search(of_name, parameter) or abi[i + 1] not in allowed:
                continue
            base, _, suffix = role.partition(":")
            if base in MANY or base.lstrip("*") not in [s.partition("=")[0].lstrip("*") for s in said]:
                said.append(f"{base}={i + 1}" + (":" + suffix if suffix else ""))
            break
    if library == "cuda" and re.match(r"cuLaunch(Cooperative)?Kernel(_ptsz)?$", name):
        said = [f"{r}={i + 1}" for i, r in enumerate("kernel gridx gridy gridz blockx blocky blockz shared stream".split())]
    if library == "cudart" and re.match(r"(__)?cudaLaunch(Cooperative)?Kernel(_ptsz)?$", name):
        said = ["kernel=1", "grid=2", "block=3", "shared=5", "stream=6"]
    if re.match(r"(cuLaunchKernelEx|cudaLaunchKernelExC)(_ptsz)?$", name):  # CUlaunchConfig, cudaLaunchConfig_t
        shared = "*shared=1:i+24" if library == "cuda" else "*shared=1+24"
        said = ["kernel=2", "*grid=1:i", "*block=1:i+12", shared, "*stream=1+32"]
    return " ".join(said[:WORDS])
