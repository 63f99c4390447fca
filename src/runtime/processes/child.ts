import cluster, { type Worker } from 'node:cluster';
import { type Assignment, assignmentVariable, type Order, type Report } from './messages.ts';

/** A started process, as its primary sees it. */
export type Child = {
  pid: number | undefined;
  assignment: Assignment;
  /** Resolves to whether it serves, or false if it ended before. */
  ready: Promise<boolean>;
  isReady: () => boolean;
  /** How it ended, whether it had served, and how long it ran (milliseconds). */
  ended: Promise<{ code: number | null; signal: string | null; served: boolean; livedMs: number }>;
  send: (order: Order) => void;
  onReport: (listener: (report: Report) => void) => void;
  kill: () => void;
};

/** Starts this program again with an assignment. Both write to the same output. */
export function startChild(assignment: Assignment): Child {
  const startMs = performance.now();
  const worker = cluster.fork({ [assignmentVariable]: JSON.stringify(assignment) });
  // A message to a process that has just died can be ignored, because its end is reported.
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
