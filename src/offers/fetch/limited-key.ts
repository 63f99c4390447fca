import { AppError } from '../../platform/errors.ts';
import type { KeyResources } from '../../platform/http/key-restrictions.ts';
import { type Problem, problem } from '../../platform/problem.ts';

/**
 * Restricts a request to the resources that a limited API key can access: one of its placements, and its campaigns. If
 * the key is limited to a single campaign, the request need not specify the campaign.
 * @throws AppError permission_denied
 */
export function keepToKey<Request extends { placement: string; campaignId: number | null }>(
  { campaigns, placements }: KeyResources,
  request: Request,
): Request {
  if (placements !== null && !placements.has(request.placement)) throw beyond('/placement', problem('noneOfKey'));
  if (campaigns === null) return request;
  const [only = null] = campaigns.size === 1 ? campaigns : [];
  const campaignId = request.campaignId ?? only;
  if (campaignId === null) throw beyond('/campaignId', problem('keyNeedsCampaign'));
  if (!campaigns.has(campaignId)) throw beyond('/campaignId', problem('noneOfKey'));
  return { ...request, campaignId };
}

const beyond = (path: string, message: Problem): AppError =>
  new AppError('permission_denied', {
    message: problem('keyOfOtherResources'),
    details: [{ path, message }],
  });
