import { hash } from 'node:crypto';

/** Style of the wallet page: one column at 320 px, more on wider screens; light or dark as the device is set. */
export const style = `
:root{color-scheme:light dark;--page:#f5f4f1;--card:#fff;--text:#20242c;--quiet:#5b6270;--line:#dedbd3;
  --action:#1f5f4a;--on-action:#fff;--focus:#1b66c9}
@media(prefers-color-scheme:dark){:root{--page:#15171b;--card:#1f2228;--text:#eceef2;--quiet:#a5adbb;
  --line:#353a43;--action:#8fd6b8;--on-action:#0d2a1f;--focus:#8ab8ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
  font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
main{max-width:70rem;margin:0 auto;padding:clamp(1rem,4vw,2.5rem)}
h1{font-size:clamp(1.5rem,5vw,2rem);line-height:1.2;margin:0 0 .25rem}
h2{font-size:1.125rem;line-height:1.3;margin:0}
p{margin:0}
.quiet{color:var(--quiet);font-size:.875rem}
.offers{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr));gap:1.25rem;
  list-style:none;margin:1.5rem 0 0;padding:0}
.offer,.notice{background:var(--card);border:1px solid var(--line);border-radius:1rem}
.offer{display:flex;flex-direction:column;overflow:hidden}
.offer img,.blank{display:block;width:100%;height:auto;aspect-ratio:3/2;object-fit:cover;
  background:var(--line)}
.blank{display:grid;place-items:center;font-size:3rem;color:var(--quiet)}
.expired img,.expired .blank{filter:grayscale(1);opacity:.6}
.text{display:flex;flex:1;flex-direction:column;gap:.5rem;padding:1rem}
.actions{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem;margin-top:auto;padding-top:.5rem}
.actions form{display:contents}
.button{display:inline-flex;align-items:center;justify-content:center;min-height:2.75rem;padding:.5rem 1rem;
  border:1px solid var(--line);border-radius:.75rem;background:none;color:inherit;font:inherit;
  text-align:center;text-decoration:none;cursor:pointer}
.button:hover{border-color:currentColor}
.main{flex:1;border-color:var(--action);background:var(--action);color:var(--on-action);font-weight:600}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px}
.badge{margin-right:auto;padding:.125rem .625rem;border:1px solid var(--line);border-radius:1rem;
  color:var(--quiet);font-size:.8125rem}
.notice{margin-top:1.5rem;padding:clamp(1.25rem,5vw,2.5rem);text-align:center}
.notice p{max-width:34rem;margin:.5rem auto 0}
.notice .actions{justify-content:center;margin-top:1rem}
.notice .main{flex:none}
details{font-size:.875rem}
summary{cursor:pointer;color:var(--quiet);padding:.25rem 0}
details div{max-height:16rem;overflow:auto}
`;

const styleHash = hash('sha256', style, 'base64');

/**
 * Headers of every wallet page: no scripts, no framing, no caching, no referrer. Forms post to our own origin, and
 * pictures may come from any advertiser.
 */
export const pageHeaders = (publicUrl: string): Record<string, string> => ({
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
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
