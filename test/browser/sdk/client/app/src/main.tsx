import { OfferUnit, PerkwireProvider } from '@perkwire/client/react';
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';

const user = { pub_user_id: new URLSearchParams(location.search).get('user') ?? '' };

function Shop() {
  const [ordered, setOrdered] = useState(false);
  const [open, setOpen] = useState(true);
  const [log, setLog] = useState<string[]>([]);
  const add = (line: string) => setLog((lines) => [...lines, line]);
  return (
    <PerkwireProvider baseUrl={import.meta.env.VITE_SERVICE} sdkId={import.meta.env.VITE_SDK_ID}>
      <h1>Checkout</h1>
      {open && (
        <OfferUnit
          placement="checkout"
          user={{ ...user }}
          confirm={ordered}
          onOffersFound={(count) => add(`offers ${count}`)}
          onPerksConfirmed={(selected) => add(`confirmed ${selected.length}`)}
          onError={({ kind, message }) => add(`error ${kind}: ${message}`)}
          onEvent={(event, payload) => {
            if (event === 'usp_selected') add(`selected ${typeof payload.campaign_id}`);
          }}
        />
      )}
      <button type="button" onClick={() => setOrdered(true)}>
        Place order
      </button>
      <button type="button" onClick={() => setOpen(!open)}>
        {open ? 'Leave' : 'Return'}
      </button>
      <pre id="log">{log.join('\n')}</pre>
    </PerkwireProvider>
  );
}

const root = document.getElementById('root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <Shop />
    </StrictMode>,
  );
