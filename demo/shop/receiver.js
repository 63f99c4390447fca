// Reloads the page when a new webhook has arrived, unless the reader has selected text or expanded an older webhook.
(() => {
  const pollIntervalMs = 2000;
  const main = document.querySelector('main');
  const isReading = () =>
    String(getSelection()) !== '' || document.querySelector('article:not(:first-of-type) details[open]') !== null;

  async function poll() {
    try {
      if (!document.hidden && !isReading()) {
        const response = await fetch('/demo/receiver', { cache: 'no-store', headers: { accept: 'application/json' } });
        if (response.ok && (await response.json()).count !== Number(main.dataset.count)) return location.reload();
      }
    } catch {
      // The service may be restarting. The next poll retries.
    }
    setTimeout(poll, pollIntervalMs);
  }
  setTimeout(poll, pollIntervalMs);
})();
