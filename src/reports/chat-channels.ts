/** A message with a link, for a chat. */
export type ChatMessage = { title: string; text: string; link: { url: string; text: string } };

/** Chat channels that publishers have set up; a contribution of one module. */
export type ChatChannels = {
  list: (publisherId: number) => Promise<readonly { id: number; name: string }[]>;
  /** @returns why it failed, without addresses; null: it was taken */
  post: (publisherId: number, channelId: number, message: ChatMessage) => Promise<string | null>;
};
