/**
 * The browser script of the arena's page: choice of a backend, and values under the pointer. Text is inserted as text,
 * never as markup.
 */
export const PAGE_SCRIPT = `
'use strict';
(() => {
  const root = document.documentElement;
  root.classList.add('js');

  const controls = document.querySelector('.controls');
  const panels = [...document.querySelectorAll('.panel')];
  const chosen = (name) => controls.querySelector('input[name="' + name + '"]:checked');
  const show = () => {
    const [curve, slots] = [chosen('curve').value, chosen('slots').value];
    for (const panel of panels) panel.hidden = panel.dataset.curve !== curve || panel.dataset.slots !== slots;
  };
  const fromAddress = () => {
    const panel = panels.find(({ id }) => '#' + id === location.hash);
    if (!panel) return;
    for (const input of controls.querySelectorAll('input')) {
      if (input.value === panel.dataset[input.name]) input.checked = true;
    }
    show();
  };
  if (controls) {
    controls.addEventListener('change', () => {
      show();
      const panel = panels.find(({ hidden }) => !hidden);
      if (panel) history.replaceState(null, '', '#' + panel.id);
    });
    addEventListener('hashchange', fromAddress);
    show();
    fromAddress();
  }

  const make = (parent, name, attributes) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
    return made;
  };
  const say = (parent, name, text, className = '') => {
    const made = document.createElement(name);
    made.textContent = text;
    made.className = className;
    parent.append(made);
    return made;
  };

  for (const svg of document.querySelectorAll('svg[data-readout]')) {
    const data = JSON.parse(svg.dataset.readout);
    if (data.at.length === 0) continue;
    const figure = svg.closest('figure');
    const [left, top, right, bottom] = data.box;
    let current = -1;
    let guide;
    let box;

    const hide = () => {
      guide?.remove();
      box?.remove();
      guide = box = undefined;
      current = -1;
    };
    const point = (index, height) => {
      const [x, label, values] = data.at[index];
      hide();
      current = index;
      guide = make(svg, 'g', { class: 'plot-ink', 'pointer-events': 'none' });
      make(guide, 'path', { d: 'M' + x + ' ' + top + 'V' + bottom, stroke: 'currentColor', 'stroke-width': 1, opacity: 0.55 });
      box = say(figure, 'div', '', 'readout plot');
      box.setAttribute('role', 'status');
      say(box, 'b', data.x.replace(/ \\(.*/, '') + ' ' + label);
      const rows = data.series.flatMap(([name, look], i) => (values[i] ? [{ name, look, y: values[i][0], value: values[i][1] }] : []));
      rows.sort((a, b) => a.y - b.y);
      const distance = (row) => Math.abs(row.y - height);
      const nearest = height === undefined ? undefined : rows.reduce((a, b) => (distance(b) < distance(a) ? b : a), rows[0]);
      for (const row of rows) {
        const line = say(box, 'div', '', row === nearest ? 'near' : '');
        say(line, 'i', '', row.look);
        say(line, 'span', row.name);
        say(line, 'span', row.value);
        const dot = make(guide, 'g', { class: row.look });
        make(dot, 'circle', { cx: x, cy: row.y, r: row === nearest ? 6 : 4, fill: 'none', stroke: 'currentColor', 'stroke-width': 2 });
      }
      const frame = figure.getBoundingClientRect();
      const drawn = svg.getBoundingClientRect();
      const scale = drawn.width / svg.viewBox.baseVal.width;
      const at = drawn.left - frame.left + x * scale;
      const beside = at + 14 + box.offsetWidth <= frame.width ? at + 14 : at - 14 - box.offsetWidth;
      box.style.left = Math.max(4, Math.min(beside, frame.width - box.offsetWidth - 4)) + 'px';
      box.style.top = drawn.top - frame.top + top * scale + 'px';
    };

    svg.addEventListener('pointermove', (event) => {
      const drawn = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / drawn.width;
      const x = (event.clientX - drawn.left) * scale;
      if (x < left - 12 || x > right + 12) return hide();
      let best = 0;
      data.at.forEach((place, i) => {
        if (Math.abs(place[0] - x) < Math.abs(data.at[best][0] - x)) best = i;
      });
      point(best, (event.clientY - drawn.top) * scale);
    });
    svg.addEventListener('pointerleave', hide);
    svg.addEventListener('blur', hide);
    svg.setAttribute('tabindex', '0');
    svg.addEventListener('keydown', ({ key }) => {
      if (key === 'Escape') return hide();
      const step = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
      if (step === 0) return;
      point(Math.max(0, Math.min(data.at.length - 1, current === -1 ? 0 : current + step)));
    });
  }
})();
`;
