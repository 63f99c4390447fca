import type { Publisher } from '../../../catalog/types.ts';
import { t } from '../../../platform/i18n/messages.ts';

export type Snippet = { key: string; title: string; text: string; guide: string | null };

/** Returns code snippets that contain the publisher's SDK ID. For details, see docs/guides. */
export function snippetsFor({ sdkId }: Publisher, publicUrl: string): readonly Snippet[] {
  return [
    {
      key: 'curl',
      title: t('integration.curl'),
      guide: null,
      text: `curl -s '${publicUrl}/native/v4/offers.json?api_key=${sdkId}' \\
  -H 'content-type: application/json' \\
  -d '{"placement":"checkout","pub_user_id":"user-1"}'`,
    },
    {
      key: 'web',
      title: t('integration.web'),
      guide: 'web',
      text: `<script>
  window.AdUser = { placement: 'checkout', pub_user_id: 'user-1' };
  window.AdConfig = { accountId: '${sdkId}' };
</script>
<script async src="${publicUrl}/launcher.min.js"></script>`,
    },
    {
      key: 'perkswall',
      title: t('integration.perkswall'),
      guide: 'web',
      text: `<div id="perkswall"></div>
<script>
  window.AdConfig = { accountId: '${sdkId}', containerId: 'perkswall' };
  window.AdUser = { c_id: 'click-1', pub_user_id: 'user-1' };
</script>
<script async src="${publicUrl}/launcher.perkswall.js"></script>

<!-- Or as a link, in a frame or in a web view: -->
<a href="${publicUrl}/offerwall/v2/?accountId=${sdkId}&amp;c_id=click-1">All offers</a>`,
    },
    {
      key: 'flutter',
      title: t('integration.flutter'),
      guide: 'flutter',
      text: `const sdkId = '${sdkId}';
const service = '${publicUrl}';

final answer = await http.post(
  Uri.parse('$service/native/v4/offers.json?api_key=$sdkId'),
  headers: {'content-type': 'application/json', 'user-agent': deviceUserAgent},
  body: jsonEncode({'placement': 'checkout', 'pub_user_id': 'user-1'}),
);
// The guide explains the web view and prefetching.`,
    },
    {
      key: 'react-native',
      title: t('integration.reactNative'),
      guide: 'react-native',
      text: `import { fetchOffers } from '@perkwire/client';

const answer = await fetchOffers({
  baseUrl: '${publicUrl}',
  sdkId: '${sdkId}',
  payload: { placement: 'checkout', pub_user_id: 'user-1' },
  userAgent: await DeviceInfo.getUserAgent(),
});
if (answer.data.count > 0) showCheckout(answer); // see the guide for the web view`,
    },
  ];
}
