import cluster, { type Worker } from 'node:cluster';
import { type Assignment, assignmentVariable, type Order, type Report } from './messages.ts';

/** Child process as seen by the primary process. */
export type Child = {
  pid: number | undefined;
  assignment: Assignment;
  /** Resolves to true when the process is ready to serve, or to false if it ended before. */
  ready: Promise<boolean>;
  isReady: () => boolean;
  /**
   * Resolves when the process has ended, with its exit code or signal, whether it had served, and its running time in
   * milliseconds.
   */
  ended: Promise<{ code: number | null; signal: string | null; served: boolean; livedMs: number }>;
  send: (order: Order) => void;
  onReport: (listener: (report: Report) => void) => void;
  kill: () => void;
};

/** Starts this program again as a child process with an assignment. Parent and child write to the same output. */
export function startChild(assignment: Assignment): Child {
  const startMs = performance.now();
  const worker = cluster.fork({ [assignmentVariable]: JSON.stringify(assignment) });
  // Ignore the error: sending a message to a process that has just died can fail, and the exit is reported separately.
  worker.on('error', () => {});
  let isReady = false;
  const ended: Child['ended'] = new Promise((resolve) => {
    worker.once('exit', (code: number | null, signal: string | null) => {
      resolve({ code, signal, served: isReady, livedMs: Math.round(performance.now() - startMs) });
      isReady = false;
    });
  });
  const ready = new Promise<boolean>((resolve) => {
    onReport(worker, (report) => {
      if (report.type !== 'ready') return;
      isReady = true;
      resolve(true);
    });
    void ended.then(() => resolve(false));
  });
  return {
    pid: worker.process.pid,
    assignment,
    ready,
    isReady: () => isReady,
    ended,
    send: (order) => {
      if (worker.isConnected()) worker.send(order);
    },
    onReport: (listener) => onReport(worker, listener),
    kill: () => void worker.process.kill('SIGKILL'),
  };
}

const onReport = (worker: Worker, listener: (report: Report) => void): void =>
  void worker.on('message', (report: Report) => listener(report));
