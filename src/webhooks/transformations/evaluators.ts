import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLimiter } from '../../platform/lib/fair-limiter.ts';
import { problem } from '../../platform/problem.ts';

/** JSONata expressions of an endpoint. A part that is missing leaves that part of the request unchanged. */
export type Transformation = { body?: string; headers?: string };

type TransformationPart = 'body' | 'headers';

/** Values that expressions can use as variables, such as `$event`. */
type TransformationValues = { event: string; webhook_id: string; dev: boolean };

/** Input of an evaluator. If `input` is null, the expressions are only compiled. */
type EvaluatorRequest = {
  transformation: Transformation;
  /** Payload as JSON text. */
  input: string | null;
  values: TransformationValues | Record<string, never>;
  maxBytes: number;
};

/**
 * Reason why a transformation failed. `position` is the number of characters before the error in the expression, or
 * null if the error has no position.
 */
export type TransformationFailure = {
  reason: 'expression' | 'time' | 'memory';
  part: TransformationPart | null;
  message: string;
  position: number | null;
};

/** Result of a transformation. `body` is null if the transformation has no expression for the body. */
type Evaluation = { body: string | null; isText: boolean; headers: Record<string, string> };

export type EvaluatorReply = Evaluation | { failed: TransformationFailure };

/** Maximum size of a transformed body, in bytes. */
export const maxOutputBytes = 262_144;
/** Maximum memory of an evaluator for the values of expressions, in MiB. */
export const maxMemoryMb = 64;
/** Maximum duration of a transformation, in milliseconds. */
const maxTransformationMs = 200;

/** Number of evaluators. A publisher uses at most one at a time, so that another one is free for other publishers. */
const evaluatorCount = 2;
/** Maximum time that a transformation waits for a free evaluator, in milliseconds. */
const maxWaitMs = 10_000;
const maxStartMs = 30_000;
/** Time without a transformation after which an evaluator is stopped, in milliseconds. */
const idleMs = 5 * 60_000;

export type Evaluators = {
  /**
   * Evaluates a transformation for a client, usually a publisher.
   * @throws if no evaluator is free in time or none can be started
   */
  run: (request: Omit<EvaluatorRequest, 'maxBytes'>, client: number | string) => Promise<EvaluatorReply>;
  close: () => void;
};

/**
 * Creates a small pool of evaluators, which start at the first transformation. Evaluators are processes, not threads,
 * because V8 ends the whole process if a thread's expression allocates a large list beyond the memory limit.
 */
export function createEvaluators(limits: { timeLimitMs?: number } = {}): Evaluators {
  const { timeLimitMs = maxTransformationMs } = limits;
  const idle: Evaluator[] = [];
  const all = new Set<Evaluator>();
  const limiter = createLimiter({
    maxConcurrent: evaluatorCount,
    maxConcurrentPerClient: 1,
    maxWaitingPerClient: 10_000,
    maxWaitMs,
    message: problem('transformationsBusy'),
  });

  async function take(): Promise<Evaluator> {
    const free = idle.pop();
    if (free !== undefined) {
      clearTimeout(free.idleTimer);
      return free;
    }
    const evaluator = await startEvaluator();
    all.add(evaluator);
    evaluator.child.once('exit', () => {
      all.delete(evaluator);
      const index = idle.indexOf(evaluator);
      if (index !== -1) idle.splice(index, 1);
    });
    return evaluator;
  }

  async function runOne(request: EvaluatorRequest): Promise<EvaluatorReply> {
    const evaluator = await take();
    const reply = await ask(evaluator.child, request, timeLimitMs);
    if (evaluator.child.exitCode === null && evaluator.child.signalCode === null && !evaluator.child.killed) {
      idle.push(evaluator);
      evaluator.idleTimer = setTimeout(() => evaluator.child.kill('SIGKILL'), idleMs).unref();
    }
    return reply;
  }

  return {
    run: (request, client) => limiter(() => runOne({ ...request, maxBytes: maxOutputBytes }), { client }),
    close: () => {
      for (const { child, idleTimer } of all) {
        clearTimeout(idleTimer);
        child.kill('SIGKILL');
      }
    },
  };
}

type Evaluator = { child: ChildProcess; idleTimer: NodeJS.Timeout | undefined };

const require = createRequire(import.meta.url);

/** Node's flag that denies access to files and processes. Node 20 and 22 know it by an earlier name. */
const permissionFlag = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

const program = fileURLToPath(new URL('../../../assets/evaluate-jsonata.mjs', import.meta.url));

async function startEvaluator(): Promise<Evaluator> {
  const flags = [
    permissionFlag,
    `--allow-fs-read=${program}`,
    `--allow-fs-read=${dirname(require.resolve('jsonata'))}${sep}`,
    '--no-warnings',
    `--max-old-space-size=${maxMemoryMb}`,
    '--disallow-code-generation-from-strings',
    '--disable-proto=delete',
  ];
  const child = spawn(process.execPath, [...flags, program], { env: {}, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  child.unref();
  child.channel?.unref();
  child.on('error', () => child.kill('SIGKILL'));
  const outcome = await nextMessage(child, maxStartMs);
  if (outcome !== 'ready') {
    child.kill('SIGKILL');
    throw new Error('the evaluator of transformations did not start');
  }
  return { child, idleTimer: undefined };
}

async function ask(child: ChildProcess, request: EvaluatorRequest, timeLimitMs: number): Promise<EvaluatorReply> {
  const reply = nextMessage(child, timeLimitMs);
  child.send(request, () => {});
  const outcome = await reply;
  if (typeof outcome === 'object') return outcome;
  child.kill('SIGKILL');
  return {
    failed:
      outcome === 'exit'
        ? failed('memory', `the transformation needed more than ${maxMemoryMb} MiB of memory`)
        : failed('time', `the transformation took longer than ${timeLimitMs} ms`),
  };
}

const failed = (reason: 'time' | 'memory', message: string): TransformationFailure => ({
  reason,
  part: null,
  message,
  position: null,
});

/**
 * Waits for the next message of an evaluator, for its exit, or for the time limit. A message that has arrived while
 * this process was busy is still read after the limit.
 */
function nextMessage(child: ChildProcess, limitMs: number): Promise<EvaluatorReply | 'ready' | 'exit' | 'time'> {
  return new Promise((resolve) => {
    const end = (outcome: EvaluatorReply | 'ready' | 'exit' | 'time'): void => {
      clearTimeout(timer);
      child.off('message', onMessage);
      child.off('exit', onExit);
      resolve(outcome);
    };
    const onMessage = (message: unknown): void => end(message as EvaluatorReply | 'ready');
    const onExit = (): void => end('exit');
    let timer = setTimeout(() => {
      timer = setTimeout(() => end('time'), 10);
    }, limitMs);
    child.once('message', onMessage);
    child.once('exit', onExit);
  });
}
