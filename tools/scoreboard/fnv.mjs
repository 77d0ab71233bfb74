// FNV-1a of 32 bits, by which a file of predictions says what it was asked.
export function fnv(bytes) {
  let number = 0x811c9dc5;
  for (const byte of bytes) number = Math.imul(number ^ byte, 0x01000193) >>> 0;
  return number.toString(16).padStart(8, '0');
}
