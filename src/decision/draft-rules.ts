import { type CompiledRules, compileRules, type RuledCampaign } from './index/compile.ts';

/**
 * Returns the compiled rules of a campaign row, or null if the rules are invalid, which only direct database writes can
 * cause.
 */
export function rulesOfDraft(campaign: RuledCampaign, capZone: string): CompiledRules | null {
  try {
    return compileRules(campaign, capZone);
  } catch {
    return null;
  }
}
