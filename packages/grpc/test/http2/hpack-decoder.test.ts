import { expect, test } from 'vitest';
import { ERROR_CODE } from '../../src/http2/error-code.js';
import { HpackDecoder } from '../../src/http2/hpack-decoder.js';

type Field = readonly [name: string, value: string];

function decoded(decoder: HpackDecoder, hex: string): Field[] {
  const fields: Field[] = [];
  decoder.decode(Buffer.from(hex.replaceAll(' ', ''), 'hex'), (name, value) => fields.push([name, value]));
  return fields;
}

// RFC 7541, appendix C.2
test.each<[string, string, Field]>([
  [
    'a literal that is indexed',
    '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572',
    ['custom-key', 'custom-header'],
  ],
  ['a literal that is not indexed', '040c 2f73 616d 706c 652f 7061 7468', [':path', '/sample/path']],
  ['a literal that is never indexed', '1008 7061 7373 776f 7264 0673 6563 7265 74', ['password', 'secret']],
  ['an index', '82', [':method', 'GET']],
])('%s is read', (_name, hex, field) => {
  expect(decoded(new HpackDecoder(), hex)).toEqual([field]);
});

const REQUESTS: Field[][] = [
  [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', '/'],
    [':authority', 'www.example.com'],
  ],
  [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', '/'],
    [':authority', 'www.example.com'],
    ['cache-control', 'no-cache'],
  ],
  [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':path', '/index.html'],
    [':authority', 'www.example.com'],
    ['custom-key', 'custom-value'],
  ],
];

const DATE_21: Field = ['date', 'Mon, 21 Oct 2013 20:13:21 GMT'];
const PRIVATE: Field = ['cache-control', 'private'];
const LOCATION: Field = ['location', 'https://www.example.com'];
const RESPONSES: Field[][] = [
  [[':status', '302'], PRIVATE, DATE_21, LOCATION],
  [[':status', '307'], PRIVATE, DATE_21, LOCATION],
  [
    [':status', '200'],
    PRIVATE,
    ['date', 'Mon, 21 Oct 2013 20:13:22 GMT'],
    LOCATION,
    ['content-encoding', 'gzip'],
    ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'],
  ],
];

/** The examples' table has 256 bytes; a table is made smaller at the start of a block. */
const TABLE_OF_256 = '3fe1 01';

test.each<[string, string[], Field[][]]>([
  [
    'requests without Huffman (C.3)',
    [
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    ],
    REQUESTS,
  ],
  [
    'requests with Huffman (C.4)',
    [
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    ],
    REQUESTS,
  ],
  [
    'responses without Huffman that push entries out (C.5)',
    [
      `${TABLE_OF_256} 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
      '4803 3330 37c1 c0bf',
      '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31',
    ],
    RESPONSES,
  ],
  [
    'responses with Huffman that push entries out (C.6)',
    [
      `${TABLE_OF_256} 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
      '4883 640e ffc1 c0bf',
      '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
    ],
    RESPONSES,
  ],
])('%s are read as the RFC has them', (_name, blocks, expected) => {
  const decoder = new HpackDecoder();
  expect(blocks.map((block) => decoded(decoder, block))).toEqual(expected);
});

test('an entry that is larger than the table empties it', () => {
  const decoder = new HpackDecoder();
  decoded(decoder, '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572');
  expect(decoded(decoder, 'be')).toEqual([['custom-key', 'custom-header']]);
  const value = Buffer.alloc(4096, 'x').toString('hex');
  // A length of 4096: 127, and the rest in sevens.
  decoded(decoder, `4001 61 7f81 1f ${value}`);
  expect(() => decoded(decoder, 'be')).toThrow('index 62');
});

test.each([
  ['the index 0', '80'],
  ['an index that is in no table', 'ff80 01'],
  ['a text that goes on beyond the block', '000a 61'],
  ['an end within an integer', '7f80'],
  ['an integer without end', '7fff ffff ffff ffff ff01'],
  ['nothing behind a name', '0001 61'],
  ['a table that is larger than ours', '3fe2 1f'],
  ['a change of the table behind a header', '8820'],
  ['the end of a string within one', '0001 6184 ffff ffff'],
  ['padding with zeros', '0001 6181 18'],
  ['padding of a byte', '0001 6182 1fff'],
])('%s ends the connection with COMPRESSION_ERROR', (_name, hex) => {
  expect(() => decoded(new HpackDecoder(), hex)).toThrow(
    expect.objectContaining({ errorCode: ERROR_CODE.COMPRESSION_ERROR }),
  );
});
