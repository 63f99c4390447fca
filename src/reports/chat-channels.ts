import type { Problem } from '../platform/problem.ts';

/** Message with a link, for a chat channel. */
export type ChatMessage = { title: string; text: string; link: { url: string; text: string } };

/** Chat channels of publishers, contributed by a single module. */
export type ChatChannels = {
  list: (publisherId: number) => Promise<readonly { id: number; name: string }[]>;
  /**
   * Posts a message to a channel.
   * @returns the reason for the failure, without addresses, or null on success
   */
  post: (publisherId: number, channelId: number, message: ChatMessage) => Promise<Problem | null>;
};
