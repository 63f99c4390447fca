import { offerReports, readTag, rememberClick } from './tag.ts';

/*
 * `omnisdk.js`: the tag under its old name. It stores the click ID of the landing page when the page calls
 * `handleAdpxClickId()`, and reports by `PerkwireConversion.track` (docs/guides/conversions.md#from-a-page).
 */
const tag = readTag(document.currentScript as HTMLScriptElement);
offerReports(tag);
window.handleAdpxClickId = () => rememberClick(tag);

declare global {
  interface Window {
    /**
     * Stores the click ID in the page's URL.
     * @returns whether the URL contains one
     */
    handleAdpxClickId: () => boolean;
  }
}
