import type { Problem } from '../platform/problem.ts';

/** A chat message with a link. */
export type ChatMessage = { title: string; text: string; link: { url: string; text: string } };

/** Chat channels of publishers; contributed by one module. */
export type ChatChannels = {
  list: (publisherId: number) => Promise<readonly { id: number; name: string }[]>;
  /** @returns why it failed, without addresses, or null on success */
  post: (publisherId: number, channelId: number, message: ChatMessage) => Promise<Problem | null>;
};
