import type { Campaign } from '../catalog/types.ts';
import { type CompiledRules, compileRules } from './index/compile.ts';

/** The rules of a campaign as a row has them; null: they are invalid, which only direct writes can cause. */
export function rulesOfDraft(
  campaign: Pick<Campaign, 'id' | 'rules' | 'goal' | 'activatedAtMs'>,
  capZone: string,
): CompiledRules | null {
  try {
    return compileRules(campaign, capZone);
  } catch {
    return null;
  }
}
