import { createApi, readJsonFile } from '../../command-line/api.ts';
import { exitCodes, type Run, usageError } from '../../command-line/command.ts';
import { type ForecastView, noteTexts } from '../view.ts';

/** Prints the forecast of a campaign or draft. */
export const forecast: Run = async (call) => {
  const [source = '', ...rest] = call.args;
  if (source === '' || rest.length > 0) throw usageError('Expected one campaign ID or file.');
  const api = createApi(call);
  const answer = /^\d+$/.test(source)
    ? await api.call('GET', `/manage/v1/campaigns/${source}/forecast`)
    : await api.call('POST', '/manage/v1/campaigns/forecast', { body: await readJsonFile(call, source) });
  const { data } = answer as { data: ForecastView };
  call.out.data(data);
  const { totals, currency, conditions, sample, notes, record } = data;
  call.out.line(`Forecast from ${data.from} to ${data.until} (80% interval):`);
  for (const [name, { low, mid, high }] of Object.entries(totals))
    call.out.line(`  ${name.padEnd(12)} ${mid} (${low} to ${high})${name === 'spend' ? ` ${currency}` : ''}`);
  for (const { rule, key, matching_sessions: matching } of conditions)
    call.out.line(`  ${key ?? rule}: ${matching} of ${sample.sessions} sampled sessions match`);
  for (const note of notes) call.out.note(`Note: ${noteTexts[note]}.`);
  if (record === null) call.out.note('Track record: no forecast has ended yet.');
  else {
    const { forecasts, impressions } = record;
    const error = (100 * impressions.median_error).toFixed(0);
    call.out.note(
      `Track record: impressions within the interval in ${impressions.inside} of ${forecasts} forecasts, ` +
        `median error ${error}%.`,
    );
  }
  return exitCodes.ok;
};
