import { parentPort } from 'node:worker_threads';
import type { LearnEvent } from './fit-rates.ts';
import { createFitSession, type FitRequest, type FitSession, type SessionStart } from './fit-session.ts';

/*
 * The thread of the learner: computes fits, so that the event loop of the process never waits for one. It reads nothing
 * and writes nothing: rows come in messages, versions go back.
 */

/** Messages to the thread. Each is answered by a reply, in their order. */
export type FitMessage =
  | { what: 'start'; start: SessionStart }
  | { what: 'take'; events: readonly LearnEvent[] }
  | { what: 'fit'; request: FitRequest };

/** Result of a message, or why it failed. */
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

/** The message before, with its reply. */
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
