// Reloads the page when another webhook has arrived, unless the reader has opened or selected something.
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
      // The service is restarting: the next poll asks again.
    }
    setTimeout(poll, pollIntervalMs);
  }
  setTimeout(poll, pollIntervalMs);
})();
