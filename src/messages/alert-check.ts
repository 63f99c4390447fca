import type { AlertCheck } from '../alerts/kinds.ts';
import { findRefusedMessages } from './store.ts';

/**
 * Finds perk messages that wait or failed because of the mail server, or of its reply about the sender: one fact for
 * each publisher, until the messages are sent or given up.
 */
export const messageCheck: AlertCheck = {
  name: 'message alerts',
  kinds: ['messages.refused'],
  findFacts: async (executor, nowMs) =>
    (await findRefusedMessages(executor)).map(({ publisherId, count, since, refusal, reply }) => ({
      publisherId,
      kind: 'messages.refused',
      subject: 'mail server',
      cause: new Date(nowMs).toISOString(),
      data: { count, since: since.toISOString(), refusal, reply },
    })),
};
