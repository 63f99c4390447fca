import { styleDirectives } from '../../catalog/themes.ts';

/**
 * CSS rules for the wallet page, in addition to those of all hosted pages. The page has one column at a width of 320
 * px, and more on wider screens.
 */
export const rules = `
main{max-width:70rem;margin:0 auto;padding:clamp(1rem,4vw,2.5rem)}
header p{margin-top:.25rem}
.offers{
  display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr));gap:max(var(--gap),1rem);
  margin-top:1.5rem
}
.media{aspect-ratio:3/2}
.coupon{margin:.5rem 0;padding:.5rem .75rem;border:1px dashed var(--line);border-radius:.5rem}
.coupon p{margin:.125rem 0}
.coupon .code{font:600 1.125rem/1.4 ui-monospace,monospace;overflow-wrap:anywhere;user-select:all}
.expired .media{filter:grayscale(1);opacity:.6}
form{display:contents}
.badge{
  margin-inline-end:auto;padding:.125rem .75rem;border:1px solid var(--line);border-radius:1rem;color:var(--quiet);
  font-size:.8125rem
}
.notice{
  margin-top:1.5rem;padding:clamp(1.25rem,5vw,2.5rem);text-align:center;background:var(--tile);
  border:1px solid var(--tile-edge);border-radius:var(--tile-radius)
}
.notice p{max-width:34rem;margin:.5rem auto 0}
.notice .actions{justify-content:center}
.notice .main{flex:none;min-width:10rem}
`;

/**
 * Returns the HTTP headers for all wallet pages. They forbid scripts, framing, caching and referrers. Forms can post
 * only to the service's own origin, and images may come from any advertiser. `style` is the inline style sheet, or "".
 */
export const pageHeaders = (publicUrl: string, style: string): Record<string, string> => ({
  'content-security-policy': [
    "default-src 'none'",
    ...styleDirectives(style),
    `img-src 'self' ${publicUrl} https:`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex, nofollow',
});
