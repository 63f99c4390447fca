import { createApi } from '../../command-line/api.ts';
import { exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';

type CampaignRow = {
  id: number;
  name: string;
  payout_currency: string;
  delivery_state: string;
  usage: { metric: string; per: string; remaining: number; next_cost: number; exhausted: boolean }[];
};

/** Prints the campaigns with their delivery states and exhausted limits. */
export const listCampaigns: Run = async (call) => {
  if (call.args.length > 0) throw usageError('This command takes no arguments.');
  const state = textOption(call, 'state');
  const rows = await createApi(call).all<CampaignRow>('/manage/v1/campaigns', {
    limit: '100',
    ...(state !== '' && { delivery_state: state }),
  });
  for (const row of rows) {
    call.out.data(row);
    call.out.line(`${row.id}  ${row.delivery_state}  ${row.name}`);
    for (const { metric, per, remaining, next_cost: cost, exhausted } of row.usage) {
      if (!exhausted) continue;
      const unit = metric === 'budget' ? row.payout_currency : metric;
      call.out.line(`  ${metric} per ${per}: ${remaining} ${unit} left, next event costs ${cost}`);
    }
  }
  return exitCodes.ok;
};
