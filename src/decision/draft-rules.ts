import { type CompiledRules, compileRules, type RuledCampaign } from './index/compile.ts';

/** Compiled rules of a campaign's row, or null if they are invalid, which only direct writes can cause. */
export function rulesOfDraft(campaign: RuledCampaign, capZone: string): CompiledRules | null {
  try {
    return compileRules(campaign, capZone);
  } catch {
    return null;
  }
}
