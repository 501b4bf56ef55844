// Tabs, copy buttons, the reader's key in the samples, and the search. Without this script every
// page can still be read.
const root = document.body.dataset.root ?? '';
const gatewayUrl = new URL(root === '' ? '..' : '.', location.href).href.replace(/\/$/, '');

const narrow = matchMedia('(max-width: 800px)');
const pages = document.querySelector('nav details');
const fold = () => pages?.toggleAttribute('open', !narrow.matches);
narrow.addEventListener('change', fold);
fold();

// Tabs: one choice of language for all groups of a page, kept for the next one.
const groups = [...document.querySelectorAll('.samples')];
const chosen = () => sessionStorage.getItem('docs.language');

function select(name) {
  for (const group of groups) {
    const sections = [...group.querySelectorAll('section')];
    const shown = sections.find(({ dataset }) => dataset.tab === name) ?? sections[0];
    for (const section of sections) section.hidden = section !== shown;
    for (const tab of group.querySelectorAll('[role=tab]')) {
      const isShown = tab.textContent === shown.dataset.tab;
      tab.setAttribute('aria-selected', String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
    }
  }
}

for (const [index, group] of groups.entries()) {
  const sections = [...group.querySelectorAll('section')];
  if (sections.length < 2) continue;
  const list = document.createElement('div');
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', 'Language');
  for (const [place, section] of sections.entries()) {
    const tab = document.createElement('button');
    tab.type = 'button';
    tab.setAttribute('role', 'tab');
    tab.id = `tab-${index}-${place}`;
    tab.textContent = section.dataset.tab;
    section.id = `panel-${index}-${place}`;
    section.setAttribute('role', 'tabpanel');
    section.setAttribute('aria-labelledby', tab.id);
    tab.setAttribute('aria-controls', section.id);
    tab.addEventListener('click', () => {
      sessionStorage.setItem('docs.language', tab.textContent);
      select(tab.textContent);
    });
    list.append(tab);
  }
  list.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tabs = [...list.children];
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.click();
    next.focus();
  });
  group.classList.add('tabbed');
  group.prepend(list);
}
select(chosen());

// Copy buttons.
for (const pre of document.querySelectorAll('pre.code')) {
  const box = document.createElement('div');
  box.className = 'code-box';
  pre.replaceWith(box);
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(pre.textContent).then(
      () => (button.textContent = 'Copied'),
      () => (button.textContent = 'Press Ctrl+C'),
    );
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  });
  const bar = document.createElement('div');
  bar.className = 'code-bar';
  bar.append(Object.assign(document.createElement('span'), { textContent: pre.dataset.label }), button);
  box.append(bar, pre);
}

// The reader's key and the gateway's address. The key stays in this tab.
const keyBox = document.querySelector('.key');
const keyField = document.querySelector('#key');
const codes = [...document.querySelectorAll('pre.code code')].map((code) => [code, code.textContent]);
const fillIn = (key) => {
  for (const [code, text] of codes)
    code.textContent = text
      .replaceAll('YOUR_API_KEY', () => key || 'YOUR_API_KEY')
      .replaceAll('GATEWAY_URL', gatewayUrl);
};
keyBox.hidden = false;
keyField.value = sessionStorage.getItem('docs.key') ?? '';
fillIn(keyField.value);
keyField.addEventListener('input', () => {
  const key = keyField.value.trim();
  sessionStorage.setItem('docs.key', key);
  fillIn(key);
});

// Search: the index is loaded with the first use.
const searchBox = document.querySelector('.search');
const field = document.querySelector('#search');
const found = document.querySelector('.found');
searchBox.hidden = false;
let loading;
const load = () =>
  (loading ??= Promise.all([
    import('./minisearch.js'),
    fetch(`${root}search.json`).then((response) => response.json()),
  ]).then(([{ default: MiniSearch }, { options, sections }]) => {
    const index = new MiniSearch(options);
    index.addAll(sections);
    return index;
  }));

const note = (text) => {
  const item = document.createElement('li');
  item.append(Object.assign(document.createElement('p'), { textContent: text }));
  return item;
};

async function search() {
  const words = field.value.trim();
  if (words === '') return found.replaceChildren();
  const index = await load().catch(() => undefined);
  if (!index) {
    loading = undefined;
    return found.replaceChildren(note('The search could not be loaded.'));
  }
  const items = index
    .search(words)
    .slice(0, 8)
    .map(({ id, heading, page }) => {
      const link = Object.assign(document.createElement('a'), { href: `${root}${id}`, textContent: heading });
      link.append(Object.assign(document.createElement('small'), { textContent: page }));
      const item = document.createElement('li');
      item.append(link);
      return item;
    });
  found.replaceChildren(...(items.length > 0 ? items : [note('Nothing found.')]));
}

field.addEventListener('focus', () => void load().catch(() => (loading = undefined)));
field.addEventListener('input', () => void search());
document.addEventListener('keydown', (event) => {
  const isTyping = /^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName ?? '');
  if (event.key === '/' && !isTyping) {
    event.preventDefault();
    field.focus();
  }
  if (event.key === 'Escape') found.replaceChildren();
});
document.addEventListener('click', (event) => {
  if (!searchBox.contains(event.target)) found.replaceChildren();
});
