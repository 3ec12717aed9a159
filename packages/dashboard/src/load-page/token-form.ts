/** Asks for the token, where the server wants one. */
import { element, setText } from '../page/dom.js';
import { labelled } from './field.js';

export class TokenForm {
  readonly element: HTMLFormElement;
  readonly #why = element('p', { className: 'error', role: 'alert' });

  constructor(use: (token: string) => void) {
    const token = element('input', {
      type: 'password',
      name: 'token',
      required: true,
      autocomplete: 'off',
      // What a header can carry.
      pattern: String.raw`[\x21-\x7e]+`,
    });
    this.element = element(
      'form',
      { className: 'card form', ariaLabel: 'Token' },
      element('h2', {}, 'Token'),
      element('p', {}, 'The command that started this page has printed its address with the token.'),
      element('div', { className: 'fields' }, labelled('Token', token)),
      element(
        'div',
        { className: 'buttons' },
        element('button', { type: 'submit', className: 'primary' }, 'Continue'),
      ),
      this.#why,
    );
    this.element.addEventListener('submit', (event) => {
      event.preventDefault();
      use(token.value);
      token.value = '';
    });
  }

  show(why: string): void {
    this.element.hidden = false;
    setText(this.#why, why);
  }
}
