import { WebSocket } from 'undici';

/** What the inspector's protocol gives of what was allocated by calls of a function, and of those below. */
type Node = { selfSize: number; children: Node[] };

/** On average every so many bytes one allocation is noted (bytes). */
const samplingInterval = 4096;

/**
 * Bytes that a process of Node allocates in its heap while `work` runs, those collected meanwhile too. It must have
 * been started with `--inspect-port`.
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
      const asked = id;
      socket.addEventListener('message', function take({ data }) {
        const answer = JSON.parse(String(data)) as { id?: number; result?: unknown };
        if (answer.id !== asked) return;
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
