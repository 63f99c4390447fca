import { offerReports, readTag, rememberClick, report } from './tag.ts';

/*
 * Conversion tag for advertisers' pages. On a landing page it stores the click ID of the URL; on a page with
 * `data-event` it reports that event; elsewhere the page calls `PerkwireConversion.track({ event, payout, currency,
 * txn_id })`.
 */
const tag = readTag(document.currentScript as HTMLScriptElement);
rememberClick(tag);

offerReports(tag);

if (tag.conversion !== null) {
  const { conversion } = tag;
  const send = (): void => void report(tag, conversion);
  // Wait until a prerendered page is activated, because it may never be shown.
  if ((document as { prerendering?: boolean }).prerendering === true)
    document.addEventListener('prerenderingchange', send, { once: true });
  else send();
}
