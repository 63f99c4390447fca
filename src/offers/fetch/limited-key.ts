import { AppError } from '../../platform/errors.ts';
import type { KeyResources } from '../../platform/http/key-restrictions.ts';

/**
 * Restricts a request to the resources of a limited key: one of its placements, and its campaigns. A single campaign
 * need not be named.
 * @throws AppError permission_denied
 */
export function keepToKey<Request extends { placement: string; campaignId: number | null }>(
  { campaigns, placements }: KeyResources,
  request: Request,
): Request {
  if (placements !== null && !placements.has(request.placement)) throw beyond('/placement', 'is none of the key’s');
  if (campaigns === null) return request;
  const [only = null] = campaigns.size === 1 ? campaigns : [];
  const campaignId = request.campaignId ?? only;
  if (campaignId === null) throw beyond('/campaignId', 'is required: the key is limited to some campaigns');
  if (!campaigns.has(campaignId)) throw beyond('/campaignId', 'is none of the key’s');
  return { ...request, campaignId };
}

const beyond = (path: string, message: string): AppError =>
  new AppError('permission_denied', {
    message: 'The key is limited to other campaigns or placements.',
    details: [{ path, message }],
  });
