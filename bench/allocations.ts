import { WebSocket } from 'undici';

/** Node of the inspector's sampling heap profile, with the allocations of one function and of its callees. */
type Node = { selfSize: number; children: Node[] };

/** Average number of bytes between two sampled allocations. */
const samplingInterval = 4096;

/**
 * Measures how many bytes a Node process allocates on its heap while `work` runs, including bytes that are collected
 * again. The process must have been started with `--inspect-port`.
 */
export async function allocatedBytes(pid: number, inspectPort: number, work: () => Promise<unknown>): Promise<number> {
  process.kill(pid, 'SIGUSR1'); // opens the inspector
  const { call, close } = await connect(inspectPort);
  const includeObjects = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
  await call('HeapProfiler.startSampling', { samplingInterval, ...includeObjects });
  await work();
  const { profile } = (await call('HeapProfiler.stopSampling')) as { profile: { head: Node } };
  close();
  return sizeOf(profile.head);
}

const sizeOf = ({ selfSize, children }: Node): number => children.reduce((sum, child) => sum + sizeOf(child), selfSize);

type Inspector = { call: (method: string, params?: object) => Promise<unknown>; close: () => void };

async function connect(port: number): Promise<Inspector> {
  const socket = new WebSocket(await debuggerUrl(port));
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  let id = 0;
  const call: Inspector['call'] = (method, params = {}) =>
    new Promise((resolve) => {
      id += 1;
      const requestId = id;
      socket.addEventListener('message', function take({ data }) {
        const answer = JSON.parse(String(data)) as { id?: number; result?: unknown };
        if (answer.id !== requestId) return;
        socket.removeEventListener('message', take);
        resolve(answer.result);
      });
      socket.send(JSON.stringify({ id, method, params }));
    });
  return { call, close: () => socket.close() };
}

async function debuggerUrl(port: number): Promise<string> {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`).catch(() => null);
    const [target] = ((await answer?.json()) ?? []) as { webSocketDebuggerUrl: string }[];
    if (target !== undefined) return target.webSocketDebuggerUrl;
  }
}
