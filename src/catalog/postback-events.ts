/** Paid events that can be sent to publishers as postbacks. */
export const postbackEvents = ['impression', 'click', 'conversion'] as const;

export type PostbackEvent = (typeof postbackEvents)[number];

export const isPostbackEvent = (kind: string): kind is PostbackEvent =>
  (postbackEvents as readonly string[]).includes(kind);
