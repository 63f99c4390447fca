import { type CompiledRules, compileRules, type RuledCampaign } from './index/compile.ts';

/**
 * Returns the compiled rules of a campaign row, or null if they are invalid. Only direct database writes can cause
 * that.
 */
export function rulesOfDraft(campaign: RuledCampaign, capZone: string): CompiledRules | null {
  try {
    return compileRules(campaign, capZone);
  } catch {
    return null;
  }
}
