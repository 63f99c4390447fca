// Forms that create or use a passkey. The device signs the challenge in `data-passkey`; the form submits the result.

const supported = typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential;

for (const form of supported ? document.querySelectorAll('form[data-passkey]') : []) {
  form.hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    answer(form).then(
      (response) => {
        form.elements.response.value = JSON.stringify(response);
        form.submit();
      },
      (error) => {
        const place = form.querySelector('[data-passkey-failed]');
        place.hidden = false;
        place.title = String(error);
      },
    );
  });
}

async function answer(form) {
  const options = JSON.parse(form.dataset.passkey);
  const credential =
    form.dataset.call === 'create'
      ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
      : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
  return credential.toJSON();
}
