import type { Objection } from '../explain/exclusions.ts';
import type { Candidate } from '../index/compile.ts';

/** What must not stand twice in one answer. */
export type Conflicts = { find: (candidate: Candidate) => Objection | null; add: (candidate: Candidate) => void };

/** One offer of a campaign; in a unit also one of an advertiser, and one campaign of an exclusion group. */
export function createConflicts(onlyCampaigns: boolean): Conflicts {
  const campaigns = new Map<number, Candidate>();
  const advertisers = new Map<number, Candidate>();
  const groups = new Map<string, Candidate>();

  function find({ offer: { campaign }, rules }: Candidate): Objection | null {
    const sameCampaign = campaigns.get(campaign.id);
    if (sameCampaign !== undefined) return { rule: 'same_campaign', shown: sameCampaign };
    const sameAdvertiser = advertisers.get(campaign.advertiserId);
    if (sameAdvertiser !== undefined) return { rule: 'same_advertiser', shown: sameAdvertiser };
    for (const group of rules.groups) {
      const shown = groups.get(group);
      if (shown !== undefined) return { rule: 'exclusion_group', shown, group };
    }
    return null;
  }

  return {
    find,
    add: (candidate) => {
      const { campaign } = candidate.offer;
      campaigns.set(campaign.id, candidate);
      if (onlyCampaigns) return;
      advertisers.set(campaign.advertiserId, candidate);
      for (const group of candidate.rules.groups) groups.set(group, candidate);
    },
  };
}
