import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { limitFloods } from '../../src/platform/log-floods.ts';
import { createLogger } from '../../src/platform/logger.ts';

type Line = { level: number; msg: string; repeated?: number; err?: { message: string } };

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

function createSink() {
  const lines: Line[] = [];
  return { lines, destination: { write: (line: string) => void lines.push(JSON.parse(line) as Line) } };
}

test('each kind of warning and error is logged once per second with its count during an outage', () => {
  const { lines, destination } = createSink();
  const logger = createLogger('info', destination);
  for (let second = 0; second < 3; second += 1) {
    for (let index = 0; index < 1000; index += 1) {
      logger.error({ err: new Error(`connect ECONNREFUSED 127.0.0.1:${5000 + index}`) }, 'request failed');
      logger.child({ pid: 7 }).warn({ err: new TypeError('a bug') }, 'request failed');
    }
    vi.advanceTimersByTime(1000);
  }
  vi.advanceTimersByTime(5000);
  for (const kind of ['connect', 'a bug']) {
    const own = lines.filter(({ err }) => err?.message.startsWith(kind));
    expect(own.map(({ repeated = 1 }) => repeated)).toEqual([1, 999, 1000, 1000]);
  }
  logger.error({ err: new Error('connect ECONNREFUSED 127.0.0.1:5432') }, 'request failed');
  expect(lines).toHaveLength(9);
});

test('kinds differ by level, message, job, part and error, and each is first logged immediately', () => {
  const { lines, destination } = createSink();
  const logger = createLogger('info', destination);
  logger.warn({}, 'one');
  logger.error({}, 'one');
  logger.error({}, 'two');
  for (const job of ['rollup', 'retention']) logger.error({ job }, 'job failed');
  for (const part of ['http', 'modules']) logger.error({ part }, 'stopping component failed');
  for (const code of ['57P03', '40001']) logger.error({ err: Object.assign(new Error('x'), { code }) }, 'failed');
  expect(lines).toHaveLength(9);
});

test('lines below warning level are never suppressed, and held lines are written before a fatal one', () => {
  const { lines, destination } = createSink();
  const logger = createLogger('info', destination);
  for (let index = 0; index < 50; index += 1) logger.info({}, 'request refused');
  expect(lines).toHaveLength(50);
  for (let index = 0; index < 5; index += 1) logger.warn({}, 'webhook delivery failed');
  logger.fatal({}, 'unexpected error');
  expect(lines.slice(50).map(({ msg, repeated }) => [msg, repeated])).toEqual([
    ['webhook delivery failed', undefined],
    ['webhook delivery failed', 4],
    ['unexpected error', undefined],
  ]);
});

test('held lines are written when the process ends', () => {
  const written: string[] = [];
  const limit = limitFloods({ write: (line) => void written.push(line) });
  for (let index = 0; index < 3; index += 1) limit.write('{"level":50,"msg":"failed"}\n');
  limit.flush();
  expect(written).toEqual(['{"level":50,"msg":"failed"}\n', '{"level":50,"msg":"failed","repeated":2}\n']);
});
