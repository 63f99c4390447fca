import type { Candidate } from '../index/compile.ts';
import type { Exclusion } from '../index/exclusion.ts';

export type Conflicts = {
  /** The conflict of a candidate with those added before, or null. */
  find: (candidate: Candidate) => Exclusion | null;
  add: (candidate: Candidate) => void;
};

/**
 * One answer has one offer of a campaign; in a unit also one of an advertiser, and one campaign of an exclusion group.
 */
export function createConflicts(onOfferwall: boolean): Conflicts {
  const campaigns = new Map<number, Candidate>();
  const advertisers = new Map<number, Candidate>();
  const groups = new Map<string, Candidate>();

  function find({ offer: { campaign }, rules }: Candidate): Exclusion | null {
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
      if (onOfferwall) return;
      advertisers.set(campaign.advertiserId, candidate);
      for (const group of candidate.rules.groups) groups.set(group, candidate);
    },
  };
}
