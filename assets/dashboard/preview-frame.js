// Inside the preview frame: the SDK shows what the page around it sends. Requests are answered here, and links and
// windows do not open, so that nothing leaves the frame.

window.AdConfig = { accountId: 'preview', autoLoad: false, targetElement: '#unit', apiUrl: location.origin };
window.AdUser = { placement: 'preview', pub_user_id: 'preview' };

const sessionId = '00000000-0000-7000-8000-000000000000';
const realFetch = window.fetch.bind(window);
window.fetch = async (url, init) =>
  /\/sdk\/(messages|unit)\./.test(String(url))
    ? realFetch(url, init)
    : new Response(
        JSON.stringify({
          message: '',
          data: {
            session_id: sessionId,
            pub_user_id: 'preview',
            status: 'open',
            selected: [],
            unselected: [],
            wrapped_at: null,
          },
        }),
        {
          status: 200,
          headers: { 'content-type': 'application/json' },
        },
      );
window.open = () => null;
window.addEventListener(
  'click',
  (event) => {
    if (event.composedPath().some((element) => element instanceof HTMLAnchorElement)) event.preventDefault();
  },
  true,
);

let shown = '';

async function show(answer) {
  const text = JSON.stringify(answer);
  if (text === shown || window.Ad === undefined) return;
  shown = text;
  sessionStorage.clear();
  await window.Ad.setApiResponse({
    data: { session_id: sessionId, count: answer.offers.length, privacy_url: location.origin, ...answer },
  });
  window.Ad.reload();
}

window.addEventListener('message', ({ origin, source, data }) => {
  if (origin === location.origin && source === window.parent && Array.isArray(data?.offers)) show(data);
});

window.addEventListener('DOMContentLoaded', () => window.parent.postMessage('preview-ready', location.origin));
