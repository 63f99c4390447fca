export const deliveryStatuses = ['pending', 'delivered', 'failed', 'held'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Filter for deliveries of a publisher; null matches any value. Times are epoch milliseconds, `toMs` is exclusive. */
export type DeliveryFilter = {
  publisherId: number;
  event: string | null;
  endpointId: number | null;
  statuses: readonly DeliveryStatus[] | null;
  fromMs: number | null;
  toMs: number | null;
  sessionId: string | null;
  pubUserId: string | null;
};

/** Whether the filter names a session or a user. */
export const isOfOneUser = ({ sessionId, pubUserId }: DeliveryFilter): boolean =>
  sessionId !== null || pubUserId !== null;

export const isPendingOnly = ({ statuses }: DeliveryFilter): boolean =>
  statuses?.length === 1 && statuses[0] === 'pending';

/** Whether the filter excludes delivered deliveries. The others are in the queue, or have an index of their own. */
export const isNotDelivered = ({ statuses }: DeliveryFilter): boolean =>
  statuses !== null && statuses.length > 0 && !statuses.includes('delivered');

/** Whether the filter selects only failed or held deliveries, which have an index of their own. */
export const isUndeliveredOnly = ({ statuses }: DeliveryFilter): boolean =>
  statuses?.every((status) => status === 'failed' || status === 'held') ?? false;
