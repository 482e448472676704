/** Asks who sits there, when the server wants to know it again before what matters (paying, …). */

/** Whether it was confirmed; false when the question was left. */
export async function confirmIdentity(reason: string): Promise<boolean> {
  const dialog = document.createElement('dialog');
  dialog.className = 'card stack';
  dialog.setAttribute('aria-labelledby', 'confirm-title');
  const title = element('h2', 'Confirm that it is you');
  title.id = 'confirm-title';
  const problem = element('p', '');
  problem.setAttribute('role', 'alert');
  const form = document.createElement('form');
  form.className = 'stack';
  form.append(
    field('Password', 'password', 'password', 'current-password'),
    field('Second-factor code, if you have one', 'code', 'text', 'one-time-code'),
    buttons(() => dialog.close()),
  );
  dialog.append(title, element('p', reason), problem, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    let confirmed = false;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void send(new FormData(form)).then((refused) => {
        confirmed = refused === null;
        if (confirmed) dialog.close();
        else problem.textContent = refused;
      });
    });
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(confirmed);
    });
  });
}

/** Null when it was right; else what was wrong with it. */
async function send(body: FormData): Promise<string | null> {
  try {
    const headers = { Accept: 'application/json' };
    const response = await fetch('/account/confirm', { method: 'POST', body, headers });
    if (response.ok) return null;
    const told = (await response.json()) as { detail?: unknown };
    return typeof told.detail === 'string' ? told.detail : 'That is not correct. Try again.';
  } catch {
    return 'The server cannot be reached. Check your connection.';
  }
}

function element(name: 'h2' | 'p', text: string): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function field(text: string, name: string, type: string, autocomplete: string): HTMLElement {
  const label = document.createElement('label');
  label.className = 'field';
  const said = document.createElement('span');
  said.textContent = text;
  const input = document.createElement('input');
  input.name = name;
  input.type = type;
  input.setAttribute('autocomplete', autocomplete);
  label.append(said, input);
  return label;
}

function buttons(leave: () => void): HTMLElement {
  const row = document.createElement('div');
  row.className = 'cluster';
  const go = document.createElement('button');
  go.className = 'button button-primary';
  go.textContent = 'Confirm';
  const not = document.createElement('button');
  not.className = 'button';
  not.type = 'button';
  not.textContent = 'Cancel';
  not.addEventListener('click', leave);
  row.append(go, not);
  return row;
}
