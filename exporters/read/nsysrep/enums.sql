-- enums.sql - names of numbers in databases of nsys of before 2025.3, for tables of Direct3D, OpenGL, Vulkan, OpenACC, OpenMP, WDDM and
-- networks, which come with every such database, whatever it holds. In sections as in schema.sql. Read off public databases.

-- @table ENUM_OPENGL_DEBUG_SOURCE nsys
CREATE TABLE ENUM_OPENGL_DEBUG_SOURCE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_OPENGL_DEBUG_SOURCE VALUES
    (33350, 'GL_DEBUG_SOURCE_API', 'API'), (33351, 'GL_DEBUG_SOURCE_WINDOW_SYSTEM', 'Window system'),
    (33352, 'GL_DEBUG_SOURCE_SHADER_COMPILER', 'Shader compiler'),
    (33353, 'GL_DEBUG_SOURCE_THIRD_PARTY', 'Third party'), (33354, 'GL_DEBUG_SOURCE_APPLICATION', 'Application'),
    (33355, 'GL_DEBUG_SOURCE_OTHER', 'Other');

-- @table ENUM_OPENGL_DEBUG_TYPE nsys
CREATE TABLE ENUM_OPENGL_DEBUG_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_OPENGL_DEBUG_TYPE VALUES
    (33356, 'GL_DEBUG_TYPE_ERROR', 'Error'), (33357, 'GL_DEBUG_TYPE_DEPRECATED_BEHAVIOR', 'Deprecated behavior'),
    (33358, 'GL_DEBUG_TYPE_UNDEFINED_BEHAVIOR', 'Undefined behavior'),
    (33359, 'GL_DEBUG_TYPE_PORTABILITY', 'Portability'), (33360, 'GL_DEBUG_TYPE_PERFORMANCE', 'Performance'),
    (33361, 'GL_DEBUG_TYPE_OTHER', 'Other'), (33384, 'GL_DEBUG_TYPE_MARKER', 'Marker'),
    (33385, 'GL_DEBUG_TYPE_PUSH_GROUP', 'Push group'), (33386, 'GL_DEBUG_TYPE_POP_GROUP', 'Pop group');

-- @table ENUM_OPENGL_DEBUG_SEVERITY nsys
CREATE TABLE ENUM_OPENGL_DEBUG_SEVERITY (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_OPENGL_DEBUG_SEVERITY VALUES
    (33387, 'GL_DEBUG_SEVERITY_NOTIFICATION', 'Notification'), (37190, 'GL_DEBUG_SEVERITY_HIGH', 'High'),
    (37191, 'GL_DEBUG_SEVERITY_MEDIUM', 'Medium'), (37192, 'GL_DEBUG_SEVERITY_LOW', 'Low');

-- @table ENUM_VULKAN_PIPELINE_CREATION_FLAGS nsys
CREATE TABLE ENUM_VULKAN_PIPELINE_CREATION_FLAGS (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_VULKAN_PIPELINE_CREATION_FLAGS VALUES
    (1, 'VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT', 'Valid flag'),
    (2, 'VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT', 'Cache hit flag'),
    (4, 'VK_PIPELINE_CREATION_FEEDBACK_BASE_PIPELINE_ACCELERATION_BIT', 'Pipeline acceleration flag');

-- @table ENUM_D3D12_HEAP_TYPE nsys
CREATE TABLE ENUM_D3D12_HEAP_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_D3D12_HEAP_TYPE VALUES
    (1, 'D3D12_HEAP_TYPE_DEFAULT', 'Default'), (2, 'D3D12_HEAP_TYPE_UPLOAD', 'Upload'),
    (3, 'D3D12_HEAP_TYPE_READBACK', 'Readback'), (4, 'D3D12_HEAP_TYPE_CUSTOM', 'Custom');

-- @table ENUM_D3D12_PAGE_PROPERTY nsys
CREATE TABLE ENUM_D3D12_PAGE_PROPERTY (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_D3D12_PAGE_PROPERTY VALUES
    (0, 'D3D12_CPU_PAGE_PROPERTY_UNKNOWN', 'Unknown'), (1, 'D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE', 'Not available'),
    (2, 'D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE', 'Write combine'),
    (3, 'D3D12_CPU_PAGE_PROPERTY_WRITE_BACK', 'Write back');

-- @table ENUM_D3D12_HEAP_FLAGS nsys
CREATE TABLE ENUM_D3D12_HEAP_FLAGS (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_D3D12_HEAP_FLAGS VALUES
    (0, 'D3D12_HEAP_FLAG_NONE', 'None'), (1, 'D3D12_HEAP_FLAG_SHARED', 'Shared'),
    (4, 'D3D12_HEAP_FLAG_DENY_BUFFERS', 'Deny Buffers'), (8, 'D3D12_HEAP_FLAG_ALLOW_DISPLAY', 'Allow Display'),
    (32, 'D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER', 'Shared Cross Adapter'),
    (64, 'D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES', 'Deny RT DS Textures'),
    (128, 'D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES', 'Deny non-RT Textures');

-- @table ENUM_D3D12_CMD_LIST_TYPE nsys
CREATE TABLE ENUM_D3D12_CMD_LIST_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_D3D12_CMD_LIST_TYPE VALUES
    (0, 'D3D12_COMMAND_LIST_TYPE_DIRECT', 'Direct'), (1, 'D3D12_COMMAND_LIST_TYPE_BUNDLE', 'Bundle'),
    (2, 'D3D12_COMMAND_LIST_TYPE_COMPUTE', 'Compute'), (3, 'D3D12_COMMAND_LIST_TYPE_COPY', 'Copy'),
    (4, 'D3D12_COMMAND_LIST_TYPE_VIDEO_DECODE', 'Video decode'),
    (5, 'D3D12_COMMAND_LIST_TYPE_VIDEO_PROCESS', 'Video process'),
    (6, 'D3D12_COMMAND_LIST_TYPE_VIDEO_ENCODE', 'Video encode');

-- @table ENUM_OPENACC_DEVICE nsys
CREATE TABLE ENUM_OPENACC_DEVICE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_OPENACC_DEVICE VALUES
    (0, 'acc_device_none', 'None'), (1, 'acc_device_default', 'Default'), (2, 'acc_device_host', 'Host'),
    (3, 'acc_device_not_host', 'Not host'), (4, 'acc_device_nvidia', 'NVIDIA'), (5, 'acc_device_radeon', 'Radeon'),
    (6, 'acc_device_xeonphi', 'Xeon Phi'), (7, 'acc_device_pgi_opencl', 'PGI OpenCL'),
    (8, 'acc_device_nvidia_opencl', 'NVIDIA OpenCL'), (9, 'acc_device_opencl', 'OpenCL');

-- @table ENUM_OPENACC_EVENT_KIND nsys
CREATE TABLE ENUM_OPENACC_EVENT_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_OPENACC_EVENT_KIND VALUES
    (0, 'CUPTI_OPENACC_EVENT_KIND_INVALID', 'Invalid'), (1, 'CUPTI_OPENACC_EVENT_KIND_DEVICE_INIT', 'Device init'),
    (2, 'CUPTI_OPENACC_EVENT_KIND_DEVICE_SHUTDOWN', 'Device shutdown'),
    (3, 'CUPTI_OPENACC_EVENT_KIND_RUNTIME_SHUTDOWN', 'Runtime shutdown'),
    (4, 'CUPTI_OPENACC_EVENT_KIND_ENQUEUE_LAUNCH', 'Enqueue launch'),
    (5, 'CUPTI_OPENACC_EVENT_KIND_ENQUEUE_UPLOAD', 'Enqueue upload'),
    (6, 'CUPTI_OPENACC_EVENT_KIND_ENQUEUE_DOWNLOAD', 'Enqueue download'),
    (7, 'CUPTI_OPENACC_EVENT_KIND_WAIT', 'Wait'), (8, 'CUPTI_OPENACC_EVENT_KIND_IMPLICIT_WAIT', 'Implicit wait'),
    (9, 'CUPTI_OPENACC_EVENT_KIND_COMPUTE_CONSTRUCT', 'Compute construct'),
    (10, 'CUPTI_OPENACC_EVENT_KIND_UPDATE', 'UPDATE'), (11, 'CUPTI_OPENACC_EVENT_KIND_ENTER_DATA', 'Enter data'),
    (12, 'CUPTI_OPENACC_EVENT_KIND_EXIT_DATA', 'Exit data'), (13, 'CUPTI_OPENACC_EVENT_KIND_CREATE', 'Create'),
    (14, 'CUPTI_OPENACC_EVENT_KIND_DELETE', 'Delete'), (15, 'CUPTI_OPENACC_EVENT_KIND_ALLOC', 'Alloc'),
    (16, 'CUPTI_OPENACC_EVENT_KIND_FREE', 'Free');

-- @table ENUM_OPENMP_EVENT_KIND nsys
CREATE TABLE ENUM_OPENMP_EVENT_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_OPENMP_EVENT_KIND VALUES
    (0, 'OPENMP_EVENT_KIND_INVALID', 'Invalid'), (1, 'OPENMP_EVENT_KIND_THREAD_BEGIN', 'Thread begin'),
    (2, 'OPENMP_EVENT_KIND_THREAD_END', 'Thread end'), (3, 'OPENMP_EVENT_KIND_PARALLEL_BEGIN', 'Parallel begin'),
    (4, 'OPENMP_EVENT_KIND_PARALLEL_END', 'Parallel End'),
    (5, 'OPENMP_EVENT_KIND_SYNC_REGION_WAIT_BEGIN', 'Sync region wait begin'),
    (6, 'OPENMP_EVENT_KIND_SYNC_REGION_WAIT_END', 'Sync region wait end'),
    (7, 'OPENMP_EVENT_KIND_SYNC_REGION_BEGIN', 'Sync region begin'),
    (8, 'OPENMP_EVENT_KIND_SYNC_REGION_END', 'Sync region end'), (9, 'OPENMP_EVENT_KIND_TASK_BEGIN', 'Task begin'),
    (10, 'OPENMP_EVENT_KIND_TASK_END', 'Task end'), (11, 'OPENMP_EVENT_KIND_MASTER_BEGIN', 'Master begin'),
    (12, 'OPENMP_EVENT_KIND_MASTER_END', 'Master end'), (13, 'OPENMP_EVENT_KIND_REDUCTION_BEGIN', 'Reduction begin'),
    (14, 'OPENMP_EVENT_KIND_REDUCTION_END', 'Reduction end'), (15, 'OPENMP_EVENT_KIND_TASK_CREATE', 'Task create'),
    (16, 'OPENMP_EVENT_KIND_TASK_SCHEDULE', 'Task schedule'), (17, 'OPENMP_EVENT_KIND_CANCEL', 'Cancel'),
    (18, 'OPENMP_EVENT_KIND_MUTEX_ACQUIRE', 'Mutex acquire'),
    (19, 'OPENMP_EVENT_KIND_MUTEX_ACQUIRED', 'Mutex acquired'),
    (20, 'OPENMP_EVENT_KIND_MUTEX_RELEASED', 'Mutex released'), (21, 'OPENMP_EVENT_KIND_LOCK_INIT', 'Lock init'),
    (22, 'OPENMP_EVENT_KIND_LOCK_DESTROY', 'Lock destroy'),
    (23, 'OPENMP_EVENT_KIND_WORKSHARE_BEGIN', 'Workshare begin'),
    (24, 'OPENMP_EVENT_KIND_WORKSHARE_END', 'Workshare end'), (25, 'OPENMP_EVENT_KIND_DISPATCH', 'Dispatch'),
    (26, 'OPENMP_EVENT_KIND_FLUSH', 'Flush'), (27, 'OPENMP_EVENT_KIND_THREAD', 'Thread'),
    (28, 'OPENMP_EVENT_KIND_PARALLEL', 'Parallel'), (29, 'OPENMP_EVENT_KIND_SYNC_REGION_WAIT', 'Sync region wait'),
    (30, 'OPENMP_EVENT_KIND_SYNC_REGION', 'Sync region'), (31, 'OPENMP_EVENT_KIND_TASK', 'Task'),
    (32, 'OPENMP_EVENT_KIND_MASTER', 'Master'), (33, 'OPENMP_EVENT_KIND_REDUCTION', 'Reduction'),
    (34, 'OPENMP_EVENT_KIND_MUTEX_WAIT', 'Mutex wait'),
    (35, 'OPENMP_EVENT_KIND_CRITICAL_SECTION', 'Critical section'), (36, 'OPENMP_EVENT_KIND_WORKSHARE', 'Workshare');

-- @table ENUM_OPENMP_THREAD nsys
CREATE TABLE ENUM_OPENMP_THREAD (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_OPENMP_THREAD VALUES
    (1, 'ompt_thread_initial', 'Initial'), (2, 'ompt_thread_worker', 'Worker'), (3, 'ompt_thread_other', 'Internal'),
    (4, 'ompt_thread_unknown', 'Unknown');

-- @table ENUM_OPENMP_DISPATCH nsys
CREATE TABLE ENUM_OPENMP_DISPATCH (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_OPENMP_DISPATCH VALUES
    (1, 'ompt_dispatch_iteration', 'Iteration'), (2, 'ompt_dispatch_section', 'Section');

-- @table ENUM_OPENMP_SYNC_REGION nsys
CREATE TABLE ENUM_OPENMP_SYNC_REGION (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_OPENMP_SYNC_REGION VALUES
    (1, 'ompt_sync_region_barrier', 'Barrier'), (2, 'ompt_sync_region_barrier_implicit', 'Implicit barrier'),
    (3, 'ompt_sync_region_barrier_explicit', 'Explicit barrier'),
    (4, 'ompt_sync_region_barrier_implementation', 'Implementation barrier'),
    (5, 'ompt_sync_region_taskwait', 'Task wait'), (6, 'ompt_sync_region_taskgroup', 'Task group'),
    (7, 'ompt_sync_region_reduction', 'Reduction');

-- @table ENUM_OPENMP_WORK nsys
CREATE TABLE ENUM_OPENMP_WORK (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_OPENMP_WORK VALUES
    (1, 'ompt_work_loop', 'Loop region'), (2, 'ompt_work_sections', 'Sections region'),
    (3, 'ompt_work_single_executor', 'Single region executor'),
    (4, 'ompt_work_single_other', 'Single region waiting'), (5, 'ompt_work_workshare', 'Workshare retion'),
    (6, 'ompt_work_distribute', 'Distribute region'), (7, 'ompt_work_taskloop', 'Task loop region');

-- @table ENUM_OPENMP_MUTEX nsys
CREATE TABLE ENUM_OPENMP_MUTEX (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_OPENMP_MUTEX VALUES
    (1, 'ompt_mutex_lock', 'Wait for lock'), (2, 'ompt_mutex_test_lock', 'Testing lock'),
    (3, 'ompt_mutex_nest_lock', 'Wait for nested lock'), (4, 'ompt_mutex_test_nest_lock', 'Testing nested lock'),
    (5, 'ompt_mutex_critical', 'Wait for critical section entry'),
    (6, 'ompt_mutex_atomic', 'Wait for atomic region entry'),
    (7, 'ompt_mutex_ordered', 'Wait for ordered region entry');

-- @table ENUM_OPENMP_TASK_FLAG nsys
CREATE TABLE ENUM_OPENMP_TASK_FLAG (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_OPENMP_TASK_FLAG VALUES
    (1, 'ompt_task_initial', 'Initial'), (2, 'ompt_task_implicit', 'Implitic'), (4, 'ompt_task_explicit', 'Explicit'),
    (8, 'ompt_task_target', 'Target'), (134217728, 'ompt_task_undeferred', 'Undeferred'),
    (268435456, 'ompt_task_untied', 'United'), (536870912, 'ompt_task_final', 'Final'),
    (1073741824, 'ompt_task_mergeable', 'Mergeable'), (2147483648, 'ompt_task_merged', 'Merged');

-- @table ENUM_OPENMP_TASK_STATUS nsys
CREATE TABLE ENUM_OPENMP_TASK_STATUS (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_OPENMP_TASK_STATUS VALUES
    (1, 'ompt_task_complete', 'Completed'), (2, 'ompt_task_yield', 'Yielded'), (3, 'ompt_task_cancel', 'Cancelled'),
    (4, 'ompt_task_detach', 'Detached'), (5, 'ompt_task_early_fulfill', 'Early fulfilled'),
    (6, 'ompt_task_late_fulfill', 'Late fulfilled'), (7, 'ompt_task_switch', 'Switched Out');

-- @table ENUM_SLI_TRANSER nsys
CREATE TABLE ENUM_SLI_TRANSER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_SLI_TRANSER VALUES
    (0, 'P2P_SKIPPED', 'Skipped'), (1, 'P2P_EARLY_PUSH', 'Early push'), (2, 'P2P_PUSH_FAILED', 'Push failed'),
    (3, 'P2P_2WAY_OR_PULL', '2way or pull'), (4, 'P2P_PRESENT', 'Present'),
    (5, 'P2P_DX12_INIT_PUSH_ON_WRITE', 'DX12 push on write');

-- @table ENUM_DXGI_FORMAT nsys
CREATE TABLE ENUM_DXGI_FORMAT (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_DXGI_FORMAT VALUES
    (0, 'DXGI_FORMAT_UNKNOWN', 'Unknown'), (1, 'DXGI_FORMAT_R32G32B32A32_TYPELESS', 'R32G32B32A32 typeless'),
    (2, 'DXGI_FORMAT_R32G32B32A32_FLOAT', 'R32G32B32A32 float'),
    (3, 'DXGI_FORMAT_R32G32B32A32_UINT', 'R32G32B32A32 uint'),
    (4, 'DXGI_FORMAT_R32G32B32A32_SINT', 'R32G32B32A32 int'),
    (5, 'DXGI_FORMAT_R32G32B32_TYPELESS', 'R32G32B32 typeless'),
    (6, 'DXGI_FORMAT_R32G32B32_FLOAT', 'R32G32B32 float'), (7, 'DXGI_FORMAT_R32G32B32_UINT', 'R32G32B32 uint'),
    (8, 'DXGI_FORMAT_R32G32B32_SINT', 'R32G32B32 int'),
    (9, 'DXGI_FORMAT_R16G16B16A16_TYPELESS', 'R16G16B16A16 typeless'),
    (10, 'DXGI_FORMAT_R16G16B16A16_FLOAT', 'R16G16B16A16 float'),
    (11, 'DXGI_FORMAT_R16G16B16A16_UNORM', 'R16G16B16A16 norm-uint'),
    (12, 'DXGI_FORMAT_R16G16B16A16_UINT', 'R16G16B16A16 uint'),
    (13, 'DXGI_FORMAT_R16G16B16A16_SNORM', 'R16G16B16A16 norm-int'),
    (14, 'DXGI_FORMAT_R16G16B16A16_SINT', 'R16G16B16A16 int'), (15, 'DXGI_FORMAT_R32G32_TYPELESS', 'R32G32 typeless'),
    (16, 'DXGI_FORMAT_R32G32_FLOAT', 'R32G32 float'), (17, 'DXGI_FORMAT_R32G32_UINT', 'R32G32 uint'),
    (18, 'DXGI_FORMAT_R32G32_SINT', 'R32G32 int'), (19, 'DXGI_FORMAT_R32G8X24_TYPELESS', 'R32G8X24 typeless'),
    (20, 'DXGI_FORMAT_D32_FLOAT_S8X24_UINT', 'D32 float, S8X24 uint'),
    (21, 'DXGI_FORMAT_R32_FLOAT_X8X24_TYPELESS', 'R32 float, X8X24 typeless'),
    (22, 'DXGI_FORMAT_X32_TYPELESS_G8X24_UINT', 'X32 typeless, G8X24 uint'),
    (23, 'DXGI_FORMAT_R10G10B10A2_TYPELESS', 'R10G10B10A2 typeless'),
    (24, 'DXGI_FORMAT_R10G10B10A2_UNORM', 'R10G10B10A2 norm-uint'),
    (25, 'DXGI_FORMAT_R10G10B10A2_UINT', 'R10G10B10A2 uint'), (26, 'DXGI_FORMAT_R11G11B10_FLOAT', 'R11G11B10 float'),
    (27, 'DXGI_FORMAT_R8G8B8A8_TYPELESS', 'R8G8B8A8 typeless'),
    (28, 'DXGI_FORMAT_R8G8B8A8_UNORM', 'R8G8B8A8 norm-uint'),
    (29, 'DXGI_FORMAT_R8G8B8A8_UNORM_SRGB', 'R8G8B8A8 norm-uint sRGB'),
    (30, 'DXGI_FORMAT_R8G8B8A8_UINT', 'R8G8B8A8 uint'), (31, 'DXGI_FORMAT_R8G8B8A8_SNORM', 'R8G8B8A8 ????'),
    (32, 'DXGI_FORMAT_R8G8B8A8_SINT', 'R8G8B8A8 int'), (33, 'DXGI_FORMAT_R16G16_TYPELESS', 'R16G16 typeless'),
    (34, 'DXGI_FORMAT_R16G16_FLOAT', 'R16G16 float'), (35, 'DXGI_FORMAT_R16G16_UNORM', 'R16G16 norm-uint'),
    (36, 'DXGI_FORMAT_R16G16_UINT', 'R16G16 uint'), (37, 'DXGI_FORMAT_R16G16_SNORM', 'R16G16 norm-int'),
    (38, 'DXGI_FORMAT_R16G16_SINT', 'R16G16 int'), (39, 'DXGI_FORMAT_R32_TYPELESS', 'R32 typeless'),
    (40, 'DXGI_FORMAT_D32_FLOAT', 'D32 float'), (41, 'DXGI_FORMAT_R32_FLOAT', 'R32 float'),
    (42, 'DXGI_FORMAT_R32_UINT', 'R32 uint'), (43, 'DXGI_FORMAT_R32_SINT', 'R32 int'),
    (44, 'DXGI_FORMAT_R24G8_TYPELESS', 'R24G8 typeless'),
    (45, 'DXGI_FORMAT_D24_UNORM_S8_UINT', 'D24 norm-uint, S8 uint'),
    (46, 'DXGI_FORMAT_R24_UNORM_X8_TYPELESS', 'R24 norm-uint, X8 typeless'),
    (47, 'DXGI_FORMAT_X24_TYPELESS_G8_UINT', 'X24 typeless, G8 uint'),
    (48, 'DXGI_FORMAT_R8G8_TYPELESS', 'R8G8 typeless'), (49, 'DXGI_FORMAT_R8G8_UNORM', 'R8G8 norm-uint'),
    (50, 'DXGI_FORMAT_R8G8_UINT', 'R8G8 uint'), (51, 'DXGI_FORMAT_R8G8_SNORM', 'R8G8 norm-int'),
    (52, 'DXGI_FORMAT_R8G8_SINT', 'R8G8 int'), (53, 'DXGI_FORMAT_R16_TYPELESS', 'R16 typeless'),
    (54, 'DXGI_FORMAT_R16_FLOAT', 'R16 float'), (55, 'DXGI_FORMAT_D16_UNORM', 'D16 norm-uint'),
    (56, 'DXGI_FORMAT_R16_UNORM', 'R16 norm-uint'), (57, 'DXGI_FORMAT_R16_UINT', 'R16 uint'),
    (58, 'DXGI_FORMAT_R16_SNORM', 'R16 norm-int'), (59, 'DXGI_FORMAT_R16_SINT', 'R16 int'),
    (60, 'DXGI_FORMAT_R8_TYPELESS', 'R8 typeless'), (61, 'DXGI_FORMAT_R8_UNORM', 'R8 norm-uint'),
    (62, 'DXGI_FORMAT_R8_UINT', 'R8 uint'), (63, 'DXGI_FORMAT_R8_SNORM', 'R8 norm-int'),
    (64, 'DXGI_FORMAT_R8_SINT', 'R8 int'), (65, 'DXGI_FORMAT_A8_UNORM', 'A8 norm-uint'),
    (66, 'DXGI_FORMAT_R1_UNORM', 'R1 norm-uint'), (67, 'DXGI_FORMAT_R9G9B9E5_SHAREDEXP', 'R9G9B9E5 shared float'),
    (68, 'DXGI_FORMAT_R8G8_B8G8_UNORM', 'R8G8_B8G8 norm-uint'),
    (69, 'DXGI_FORMAT_G8R8_G8B8_UNORM', 'G8R8_G8B8 norm-uint'), (70, 'DXGI_FORMAT_BC1_TYPELESS', 'BC-1 typeless'),
    (71, 'DXGI_FORMAT_BC1_UNORM', 'BC-1 norm-uint'), (72, 'DXGI_FORMAT_BC1_UNORM_SRGB', 'BC-1 norm-uint sRGB'),
    (73, 'DXGI_FORMAT_BC2_TYPELESS', 'BC-2 typeless'), (74, 'DXGI_FORMAT_BC2_UNORM', 'BC-2 norm-uint'),
    (75, 'DXGI_FORMAT_BC2_UNORM_SRGB', 'BC-2 norm-uint sRGB'), (76, 'DXGI_FORMAT_BC3_TYPELESS', 'BC-3 typeless'),
    (77, 'DXGI_FORMAT_BC3_UNORM', 'BC-3 norm-uint'), (78, 'DXGI_FORMAT_BC3_UNORM_SRGB', 'BC-3 norm-uint sRGB'),
    (79, 'DXGI_FORMAT_BC4_TYPELESS', 'BC-4 typeless'), (80, 'DXGI_FORMAT_BC4_UNORM', 'BC-4 norm-uint'),
    (81, 'DXGI_FORMAT_BC4_SNORM', 'BC-4 norm-int'), (82, 'DXGI_FORMAT_BC5_TYPELESS', 'BC-5 typeless'),
    (83, 'DXGI_FORMAT_BC5_UNORM', 'BC-5 norm-uint'), (84, 'DXGI_FORMAT_BC5_SNORM', 'BC-5 norm-int'),
    (85, 'DXGI_FORMAT_B5G6R5_UNORM', 'B5G6R5 norm-uint'), (86, 'DXGI_FORMAT_B5G5R5A1_UNORM', 'B5G5R5A1 norm-uint'),
    (87, 'DXGI_FORMAT_B8G8R8A8_UNORM', 'B8G8R8A8 norm-uint'),
    (88, 'DXGI_FORMAT_B8G8R8X8_UNORM', 'B8G8R8X8 norm-uint'),
    (89, 'DXGI_FORMAT_R10G10B10_XR_BIAS_A2_UNORM', 'R10G10B10 fixed-pt, A2 norm-uint'),
    (90, 'DXGI_FORMAT_B8G8R8A8_TYPELESS', 'B8G8R8A8 typeless'),
    (91, 'DXGI_FORMAT_B8G8R8A8_UNORM_SRGB', 'B8G8R8A8 norm-uint sRGB'),
    (92, 'DXGI_FORMAT_B8G8R8X8_TYPELESS', 'B8G8R8X8 typeless'),
    (93, 'DXGI_FORMAT_B8G8R8X8_UNORM_SRGB', 'B8G8R8X8 norm-uint sRGB'),
    (94, 'DXGI_FORMAT_BC6H_TYPELESS', 'BC-6H typeless'), (95, 'DXGI_FORMAT_BC6H_UF16', 'BC-6H ufloat'),
    (96, 'DXGI_FORMAT_BC6H_SF16', 'BC-6H float'), (97, 'DXGI_FORMAT_BC7_TYPELESS', 'BC-7 typeless'),
    (98, 'DXGI_FORMAT_BC7_UNORM', 'BC-7 norm-uint'), (99, 'DXGI_FORMAT_BC7_UNORM_SRGB', 'BC-7 norm-uint sRGB'),
    (100, 'DXGI_FORMAT_AYUV', 'AYUV444-8'), (101, 'DXGI_FORMAT_Y410', 'Y444-10'),
    (102, 'DXGI_FORMAT_Y416', 'Y444-16'), (103, 'DXGI_FORMAT_NV12', 'NV420-8'), (104, 'DXGI_FORMAT_P010', 'P420-10'),
    (105, 'DXGI_FORMAT_P016', 'P420-16'), (106, 'DXGI_FORMAT_420_OPAQUE', 'YUV420-8 opaque'),
    (107, 'DXGI_FORMAT_YUY2', 'YUY422'), (108, 'DXGI_FORMAT_Y210', 'Y422-10'), (109, 'DXGI_FORMAT_Y216', 'Y422-16'),
    (110, 'DXGI_FORMAT_NV11', 'NV411-8'), (111, 'DXGI_FORMAT_AI44', 'AI44'), (112, 'DXGI_FORMAT_IA44', 'IA44'),
    (113, 'DXGI_FORMAT_P8', 'P8'), (114, 'DXGI_FORMAT_A8P8', 'A8P8'),
    (115, 'DXGI_FORMAT_B4G4R4A4_UNORM', 'B4G4R4A4 norm-uint'), (130, 'DXGI_FORMAT_P208', 'YCbCrA 422 8'),
    (131, 'DXGI_FORMAT_V208', 'YCbCrA 440 8'), (132, 'DXGI_FORMAT_V408', 'YCbCrA 444 8'),
    (189, 'DXGI_FORMAT_SAMPLER_FEEDBACK_MIN_MIP_OPAQUE', 'Sampler mip-map opaque'),
    (190, 'DXGI_FORMAT_SAMPLER_FEEDBACK_MIP_REGION_USED_OPAQUE', 'Sampler mip-region opaque');

-- @table ENUM_NVDRIVER_EVENT_ID nsys
CREATE TABLE ENUM_NVDRIVER_EVENT_ID (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_NVDRIVER_EVENT_ID VALUES
    (1, 'NV_WGF2UM_EVENT_LOAD_BALANCE_GPU', 'GPU load balance'),
    (8, 'NV_WGF2UM_EVENT_LOAD_BALANCE_CPU', 'CPU load balance'),
    (21, 'NV_WGF2UM_EVENT_LOAD_BALANCE_MASTER_GPU', 'GPU load balance master'),
    (22, 'NV_WGF2UM_EVENT_LOAD_BALANCE_MASTER_CPU', 'CPU load balance master');

-- @table ENUM_WDDM_PAGING_QUEUE_TYPE nsys
CREATE TABLE ENUM_WDDM_PAGING_QUEUE_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_WDDM_PAGING_QUEUE_TYPE VALUES
    (0, 'VIDMM_PAGING_QUEUE_TYPE_UMD', 'UMD'), (1, 'VIDMM_PAGING_QUEUE_TYPE_DEFAULT', 'Default'),
    (2, 'VIDMM_PAGING_QUEUE_TYPE_EVICT', 'Evict'), (3, 'VIDMM_PAGING_QUEUE_TYPE_RECLAIM', 'Reclaim');

-- @table ENUM_WDDM_PACKET_TYPE nsys
CREATE TABLE ENUM_WDDM_PACKET_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_WDDM_PACKET_TYPE VALUES
    (0, 'DXGKETW_RENDER_COMMAND_BUFFER', 'Render'), (1, 'DXGKETW_DEFERRED_COMMAND_BUFFER', 'Deferred'),
    (2, 'DXGKETW_SYSTEM_COMMAND_BUFFER', 'System'), (3, 'DXGKETW_MMIOFLIP_COMMAND_BUFFER', 'MemMap IO Flip'),
    (4, 'DXGKETW_WAIT_COMMAND_BUFFER', 'Wait'), (5, 'DXGKETW_SIGNAL_COMMAND_BUFFER', 'Signal'),
    (6, 'DXGKETW_DEVICE_COMMAND_BUFFER', 'Device'), (7, 'DXGKETW_SOFTWARE_COMMAND_BUFFER', 'Software');

-- @table ENUM_WDDM_ENGINE_TYPE nsys
CREATE TABLE ENUM_WDDM_ENGINE_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_WDDM_ENGINE_TYPE VALUES
    (0, 'DXGK_ENGINE_TYPE_OTHER', 'Other'), (1, 'DXGK_ENGINE_TYPE_3D', '3D'),
    (2, 'DXGK_ENGINE_TYPE_VIDEO_DECODE', 'Video decode'), (3, 'DXGK_ENGINE_TYPE_VIDEO_ENCODE', 'Video encode'),
    (4, 'DXGK_ENGINE_TYPE_VIDEO_PROCESSING', 'Video processing'),
    (5, 'DXGK_ENGINE_TYPE_SCENE_ASSEMBLY', 'Scene assembly'), (6, 'DXGK_ENGINE_TYPE_COPY', 'Copy'),
    (7, 'DXGK_ENGINE_TYPE_OVERLAY', 'Overlay'), (8, 'DXGK_ENGINE_TYPE_CRYPTO', 'Crypto');

-- @table ENUM_WDDM_INTERRUPT_TYPE nsys
CREATE TABLE ENUM_WDDM_INTERRUPT_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_WDDM_INTERRUPT_TYPE VALUES
    (1, 'DXGK_INTERRUPT_DMA_COMPLETED', 'DMA complete'), (2, 'DXGK_INTERRUPT_DMA_PREEMPTED', 'DMA preempted'),
    (3, 'DXGK_INTERRUPT_CRTC_VSYNC', 'Critical VSYNC'), (4, 'DXGK_INTERRUPT_DMA_FAULTED', 'CMA faulted'),
    (5, 'DXGK_INTERRUPT_DISPLAYONLY_VSYNC', 'Display-only VSYNC'),
    (6, 'DXGK_INTERRUPT_DISPLAYONLY_PRESENT_PROGRESS', 'Display-only progress'),
    (7, 'DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY', 'Critical VSYNC w/ overlay'),
    (8, 'DXGK_INTERRUPT_MICACAST_CHUNK_PROCESSING_COMPLETE', 'Miracast chunk complete'),
    (9, 'DXGK_INTERRUPT_DMA_PAGE_FAULTED', 'DMA page faulted'),
    (10, 'DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY2', 'Critical VSYNC w/ overlay 2'),
    (11, 'DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED', 'Monitored fence'),
    (12, 'DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED', 'HW queue page fault'),
    (13, 'DXGK_INTERRUPT_HWCONTEXTLIST_SWITCH_COMPLETED', 'HW context switch'),
    (14, 'DXGK_INTERRUPT_PERIODIC_MONITORED_FENCE_SIGNALED', 'Periodic fence'),
    (15, 'DXGK_INTERRUPT_SCHEDULING_LOG_INTERRUPT', 'Scheduling log'),
    (16, 'DXGK_INTERRUPT_GPU_ENGINE_TIMEOUT', 'GPU timeout'),
    (17, 'DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED', 'Suspend ctx complete');

-- @table ENUM_WDDM_VIDMM_OP_TYPE nsys
CREATE TABLE ENUM_WDDM_VIDMM_OP_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_WDDM_VIDMM_OP_TYPE VALUES
    (0, 'None', 'None'), (101, 'RestoreSegments', 'Restore segments'), (102, 'PurgeSegments', 'Purge segements'),
    (103, 'CleanupPrimary', 'Cleanup primary'),
    (104, 'AllocatePagingBufferResources', 'Allocate paging buffer resources'),
    (105, 'FreePagingBufferResources', 'Free paging buffer resources'),
    (106, 'ReportVidMmState', 'Report VIDMM State'), (107, 'RunApertureCoherencyTest', 'Run aperture coherency test'),
    (108, 'RunUnmapToDummyPageTest', 'Run unmap to dummy page test'), (109, 'DeferredCommand', 'Deferred command'),
    (110, 'SuspendMemorySegmentAccess', 'Suspend mem seg access'),
    (111, 'ResumeMemorySegmentAccess', 'Resume mem seg access'), (112, 'EvictAndFlush', 'Evict and flush'),
    (113, 'CommitVirtualAddressRange', 'Commit virt-addr range'),
    (114, 'UncommitVirtualAddressRange', 'Uncommit virt-addrrange'),
    (115, 'DestroyVirtualAddressAllocator', 'Destroy virt-addr allocator'), (116, 'PageInDevice', 'Page in device'),
    (117, 'MapContextAllocation', 'Map context allocation'),
    (118, 'InitPagingProcessVaSpace', 'Init praging process VA space'), (200, 'CloseAllocation', 'Close allocation'),
    (202, 'ComplexLock', 'Complex lock'), (203, 'PinAllocation', 'Pin allocation'),
    (204, 'FlushPendingGpuAccess', 'Flish pending GPU access'), (205, 'UnpinAllocation', 'Unpin allocation'),
    (206, 'MakeResident', 'Make resident'), (207, 'Evict', 'Evict'), (208, 'LockInAperture', 'Lock in aperture'),
    (209, 'InitContextAllocation', 'Init context allocation'), (210, 'ReclaimAllocation', 'Reclaim allocation'),
    (211, 'DiscardAllocation', 'Discard allocation'), (212, 'SetAllocationPriority', 'Set allocation priority'),
    (1000, 'EvictSystemMemoryOfferList', 'Evict sys-mem offer list');

-- @table ENUM_NET_LINK_TYPE nsys
CREATE TABLE ENUM_NET_LINK_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_NET_LINK_TYPE VALUES
    (0, 'Unknown', 'Unknown NIC'), (1, 'Ethernet', 'Ethernet NIC'), (2, 'InfiniBand', 'InfiniBand NIC');

-- @table ENUM_NET_DEVICE_ID nsys
CREATE TABLE ENUM_NET_DEVICE_ID (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_NET_DEVICE_ID VALUES
    (4099, 'CntX3', 'ConnectX-3'), (4103, 'CntX3Pro', 'ConnectX-3 Pro'), (4113, 'CntIB', 'Connect-IB'),
    (4115, 'CntX4', 'ConnectX-4'), (4117, 'CntX4Lx', 'ConnectX-4 Lx'), (4119, 'CntX5', 'ConnectX-5'),
    (4121, 'CntX5Ex', 'ConnectX-5 Ex'), (4123, 'CntX6', 'ConnectX-6'), (4125, 'CntX6Dx', 'ConnectX-6 Dx'),
    (4127, 'CntX6Lx', 'ConnectX-6 Lx'), (4129, 'CntX7', 'ConnectX-7'), (4131, 'CntX8', 'ConnectX-8'),
    (21108, 'InfiniBridge', 'InfiniBridge'), (23108, 'InfiniHost', 'InfiniHost'),
    (24204, 'InfiniHost3LxHca1', 'InfiniHost III Lx HCA 1'), (25204, 'InfiniHost3LxHca2', 'InfiniHost III Lx HCA 2'),
    (25208, 'InfiniHost3ExTavor', 'InfiniHost III Ex (Tavor compatibility mode)'),
    (25218, 'InfiniHost3Ex', 'InfiniHost III Ex'), (25408, 'CntXDual10Gb', 'ConnectX Dual Port 10Gb/s'),
    (25418, 'CntXDual20Gb', 'ConnectX Dual Port 20Gb/s'),
    (25448, 'CntXEn10Gb25Gt1', 'ConnectX EN 10GigE PCIe 2.0 2.5GT/s'),
    (25458, 'CntXEn10Gb25Gt2', 'ConnectX EN 10GBASE-T PCIe 2.5 GT/s'),
    (26428, 'CntXDual40Gb', 'ConnectX Dual Port 40Gb/s'), (26438, 'CntXVpi', 'ConnectX VPI PCIe 2.0 5GT/s'),
    (26448, 'CntXEn10Gb50Gt1', 'ConnectX EN 10GigE PCIe 2.0 5GT/s'),
    (26458, 'CntXEn10Gb50Gt2', 'ConnectX EN 10GBASE-T PCIe Gen2 5.0 GT/s'),
    (26468, 'CntXEn10Gb50GtVirt', 'ConnectX EN 10GigE PCIe 2.0 5GT/s Virtualization+'),
    (26478, 'CntXEn40Gb50Gt', 'ConnectX EN 40GigE PCIe 2.0 5GT/s'),
    (26488, 'CntXVpiVirt', 'ConnectX VPI PCIe 2.0 5GT/s - IB DDR / 10GigE Virtualization+'),
    (41680, 'BF1Crypto', 'BlueField SoC Crypto enabled'), (41681, 'BF1NoCrypto', 'BlueField SoC Crypto disabled'),
    (41682, 'BF1CntX5', 'BlueField integrated ConnectX-5 network controller'),
    (41683, 'BF1MultiVF', 'BlueField multicore SoC family VF'),
    (41684, 'BF2Crypto', 'BlueField-2 SoC Crypto enabled'), (41685, 'BF2NoCrypto', 'BlueField-2 SoC Crypto disabled'),
    (41686, 'BF2CntX6Dx', 'BlueField-2 integrated ConnectX-6 Dx network controller'),
    (41687, 'BF3LxCrypto', 'BlueField-3 Lx SoC Crypto enabled'),
    (41688, 'BF3LxNoCrypto', 'BlueField-3 Lx SoC Crypto disabled'),
    (41689, 'BF3LxCntX7Lx', 'BlueField-3 Lx integrated ConnectX-7 network controller'),
    (41690, 'BF3Crypto', 'BlueField-3 SoC Crypto enabled'), (41691, 'BF3NoCrypto', 'BlueField-3 SoC Crypto disabled'),
    (41692, 'BF3CntX7', 'BlueField-3 integrated ConnectX-7 network controller'),
    (41693, 'BF4Crypto', 'BlueField-4 SoC Crypto enabled'), (41694, 'BF4NoCrypto', 'BlueField-4 SoC Crypto disabled'),
    (41695, 'BF4Int', 'BlueField-4 integrated network controller');

-- @table ENUM_NET_VENDOR_ID nsys
CREATE TABLE ENUM_NET_VENDOR_ID (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_NET_VENDOR_ID VALUES
    (5555, 'NVIDIA', 'NVIDIA / Mellanox');

-- @table ENUM_ETW_MEMORY_TRANSFER_TYPE nsys
CREATE TABLE ENUM_ETW_MEMORY_TRANSFER_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_ETW_MEMORY_TRANSFER_TYPE VALUES
    (0, 'UnknownTransfer', 'Unknown Transfer'), (1, 'DeviceToSystem', 'Device To System Transfer'),
    (2, 'SystemToDevice', 'System To Device Transfer'), (3, 'AgpToDevice', 'AGP To Device Transfer'),
    (4, 'DeviceToAgp', 'Device To AGP Transfer'), (5, 'EvictToAlternateva', 'Evict To Alternate VA Transfer'),
    (6, 'RestoreFromAlternateva', 'Restore From Alternate VA Transfer'), (7, 'Discard', 'Discard');

-- @table ENUM_VIDEO_ENGINE_TYPE nsys
CREATE TABLE ENUM_VIDEO_ENGINE_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_VIDEO_ENGINE_TYPE VALUES
    (0, 'NVDEC', 'NV Decode'), (1, 'NVENC', 'NV Encode'), (2, 'NVJPEG', 'NV JPEG'), (3, 'OFA', 'OFA');

-- @table ENUM_VIDEO_ENGINE_CODEC nsys
CREATE TABLE ENUM_VIDEO_ENGINE_CODEC (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_VIDEO_ENGINE_CODEC VALUES
    (0, 'MPEG2', 'MPEG-2'), (1, 'VC1', 'VC-1'), (2, 'H264', 'H.264'), (3, 'MPEG4', 'MPEG-4'), (4, 'VP8', 'VP8'),
    (5, 'VP9', 'VP9'), (6, 'HEVC', 'HEVC'), (7, 'AV1', 'AV1');

-- @table ENUM_NET_IB_DEVICE_TYPE nsys
CREATE TABLE ENUM_NET_IB_DEVICE_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_NET_IB_DEVICE_TYPE VALUES
    (1, 'Endpoint', 'End Point'), (2, 'IBSwitch', 'IB Switch');

-- @table ENUM_NET_IB_CONGESTION_EVENT_TYPE nsys
CREATE TABLE ENUM_NET_IB_CONGESTION_EVENT_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_NET_IB_CONGESTION_EVENT_TYPE VALUES
    (1, 'EgressPortQueueSize', 'Egress Port Queue Size');
