// A trace as PyTorch's profiler writes it, of any length, made in the page and dropped on Diagnose.

/** Runs in the page: makes a trace of `megabytes` MB with `steps` marked steps (0: none marked), as `globalThis.made`. Its events are
 * those of parts of 1 MB that differ in their times and ids. Resolves to the bytes of the file. */
export function makeTrace({ megabytes, steps }) {
  const names = [
    'sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1',
    'void flash::compute_attn_ws<Flash_fwd_kernel_traits<128, 128, 128, 12, 2, false, 1, cutlass::bfloat16_t>>',
    'ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)',
    'void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>',
  ];
  // Four digits of the part stand where @@@@ is: microseconds and ids go on from part to part.
  const event = (at) => {
    const [id, time] = [`1@@@@${String(at).padStart(4, '0')}`, (offset) => `1@@@@${String(600 * at + offset).padStart(6, '0')}`];
    return `{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":7,"tid":7,"ts":${time(0)}.5,"dur":9.1,`
      + `"args":{"External id":${id},"Record function id":0,"Sequence number":${id},"Fwd thread id":0}},\n`
      + `{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":${time(1)}.9,"dur":4.2,`
      + `"args":{"External id":${id},"cbid":211,"correlation":${id}}},\n`
      + `{"ph":"X","cat":"kernel","name":"${names[at % names.length]}","pid":0,"tid":7,"ts":${time(8)}.25,"dur":590.75,"args":`
      + `{"External id":${id},"queued":0,"device":0,"context":1,"stream":7,"correlation":${id},"registers per thread":168,`
      + '"shared memory":213016,"grid":[132,1,1],"block":[384,1,1]}},\n';
  };
  let part = '';
  for (let at = 0; part.length < 1e6; at += 1) part += event(at);
  const digits = (number) => String(number).padStart(4, '0');
  const each = Math.ceil(megabytes / Math.max(steps, 1));
  const parts = ['{"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":8},"traceEvents":[\n'];
  for (let at = 0; at < megabytes; at += 1) {
    if (steps > 0 && at % each === 0) {
      parts.push(`{"ph":"X","cat":"user_annotation","name":"ProfilerStep#${at / each}","pid":7,"tid":7,`
        + `"ts":1${digits(at)}000000,"dur":${each}000000,"args":{}},\n`);
    }
    // A blob of its own: the text need not be held.
    parts.push(new Blob([part.replaceAll('@@@@', digits(at))]));
  }
  parts.push('{"ph":"i","name":"end","ts":1}]}');
  globalThis.made = new File(parts, 'made.json');
  return globalThis.made.size;
}

/** Runs in the page: drops it; `globalThis.dropped` is when. */
export function dropMade() {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(globalThis.made);
  globalThis.dropped = performance.now();
  const place = document.querySelector('main.diagnose .board-drop');
  place.dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer }));
}
