export const deliveryStatuses = ['pending', 'delivered', 'failed', 'held'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/**
 * Filter for a publisher's deliveries. A null field matches any value. Times are in epoch milliseconds, and `toMs` is
 * exclusive.
 */
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

/** Whether the filter selects a session or a user. */
export const isOfOneUser = ({ sessionId, pubUserId }: DeliveryFilter): boolean =>
  sessionId !== null || pubUserId !== null;

export const isPendingOnly = ({ statuses }: DeliveryFilter): boolean =>
  statuses?.length === 1 && statuses[0] === 'pending';

/**
 * Whether the filter excludes deliveries with the status `delivered`. All others are in the queue or in a separate
 * index.
 */
export const isNotDelivered = ({ statuses }: DeliveryFilter): boolean =>
  statuses !== null && statuses.length > 0 && !statuses.includes('delivered');

/** Whether the filter selects only failed or held deliveries, for which there is a separate index. */
export const isUndeliveredOnly = ({ statuses }: DeliveryFilter): boolean =>
  statuses?.every((status) => status === 'failed' || status === 'held') ?? false;
