import { parentPort } from 'node:worker_threads';
import type { LearnEvent } from './fit-rates.ts';
import { createFitSession, type FitRequest, type FitSession, type SessionStart } from './fit-session.ts';

/**
 * Worker thread of the learner. It computes fits, so that they never block the event loop of the process. The thread
 * does no I/O: it receives rows as messages and sends back model versions.
 */

/** Message to the thread. Messages are processed in order. */
export type FitMessage =
  | { what: 'start'; start: SessionStart }
  | { what: 'take'; events: readonly LearnEvent[] }
  | { what: 'fit'; request: FitRequest };

/** Reply to a message: its result, or an error. */
export type FitReply = { result: unknown } | { err: unknown };

let session: FitSession | null = null;

async function handle(message: FitMessage): Promise<unknown> {
  if (message.what === 'start') {
    session = await createFitSession(message.start);
    return null;
  }
  if (session === null) throw new Error('the thread of the learner was not started');
  if (message.what === 'fit') return session.fit(message.request);
  session.take(message.events);
  return null;
}

/** Resolves when the previous message has been processed. */
let last: Promise<void> = Promise.resolve();

async function reply(message: FitMessage): Promise<void> {
  const answer: FitReply = await handle(message).then(
    (result) => ({ result }),
    (err: unknown) => ({ err }),
  );
  parentPort?.postMessage(answer);
}

parentPort?.on('message', (message: FitMessage) => {
  last = last.then(() => reply(message));
});
