import { type CompiledRules, compileRules, type RuledCampaign } from './index/compile.ts';

/** The rules of a campaign as a row has them; null: they are invalid, which only direct writes can cause. */
export function rulesOfDraft(campaign: RuledCampaign, capZone: string): CompiledRules | null {
  try {
    return compileRules(campaign, capZone);
  } catch {
    return null;
  }
}
