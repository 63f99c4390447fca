import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, expect, test } from 'vitest';

const script = new URL('./hostile-sender.ts', import.meta.url);
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

function start<Message>(...args: string[]): Promise<Message> {
  const child = fork(script, args, { execArgv: ['--import', 'tsx'] });
  children.push(child);
  return once(child, 'message').then(([message]) => message as Message);
}

type Report = { grownMb: number; longestMs: number; mostKept: number; kinds: Record<string, number> };

test('500 hostile answers at once (endless, unpacking, flooding, dripping) cost less than 50 MB and end by the deadline', async () => {
  const port = await start<number>('receiver');
  const report = await start<Report>('sender', String(port));
  expect(report.grownMb).toBeLessThan(50);
  expect(report.mostKept).toBe(16_384);
  expect(report.longestMs).toBeLessThan(9000);
  expect(report.kinds).toMatchObject({ response: expect.any(Number), protocol: expect.any(Number), timeout: expect.any(Number) });
  expect(Object.values(report.kinds).reduce((sum, count) => sum + count, 0)).toBe(500);
});
