/** What runs on the graphics card. Coordinates come in CSS pixels; colours leave premultiplied. */
import { SLOTS } from './colouring';

/** Points as dots: `view` is (scale, x, y) of the view, `screen` (width, height). */
export const DOTS = {
  vertex: `#version 300 es
  in vec2 before;
  in vec2 place;
  in uint code;
  uniform vec3 view;
  uniform vec2 screen;
  uniform float share;
  uniform float size;
  uniform float opacity;
  uniform bool selecting;
  uniform vec4 palette[${SLOTS}];
  flat out vec4 colour;
  void main() {
    vec2 at = mix(before, place, share) * view.x + view.yz;
    gl_Position = vec4(at.x / screen.x * 2.0 - 1.0, 1.0 - at.y / screen.y * 2.0, 0.0, 1.0);
    gl_PointSize = size;
    vec4 own = palette[code & 15u];
    float seen = opacity * own.a * (selecting && code < 128u ? 0.25 : 1.0);
    colour = vec4(own.rgb * seen, seen);
  }`,
  fragment: `#version 300 es
  precision mediump float;
  flat in vec4 colour;
  out vec4 painted;
  void main() {
    vec2 from = gl_PointCoord - 0.5;
    if (dot(from, from) > 0.25) discard;
    painted = colour;
  }`,
};

/** Dots painted before, as a picture: `box` is (left, top, width, height) on the screen. */
export const COPY = {
  vertex: `#version 300 es
  in vec2 corner;
  uniform vec4 box;
  uniform vec2 screen;
  out vec2 place;
  void main() {
    vec2 at = box.xy + corner * box.zw;
    place = vec2(corner.x, 1.0 - corner.y);
    gl_Position = vec4(at.x / screen.x * 2.0 - 1.0, 1.0 - at.y / screen.y * 2.0, 0.0, 1.0);
  }`,
  fragment: `#version 300 es
  precision mediump float;
  uniform sampler2D dots;
  in vec2 place;
  out vec4 painted;
  void main() { painted = texture(dots, place); }`,
};

/** Pictures in rounded frames; see `Picture` for the numbers. */
export const PICTURES = {
  vertex: `#version 300 es
  in vec2 corner;
  in vec3 middle;
  in vec3 origin;
  in vec4 rest;
  uniform vec2 screen;
  uniform vec4 palette[${SLOTS}];
  out vec2 local;
  flat out vec2 start;
  flat out vec2 extent;
  flat out float page;
  flat out vec2 halves;
  flat out vec4 frame;
  flat out float seen;
  void main() {
    vec2 at = middle.xy + (corner * 2.0 - 1.0) * middle.z;
    gl_Position = vec4(at.x / screen.x * 2.0 - 1.0, 1.0 - at.y / screen.y * 2.0, 0.0, 1.0);
    local = corner * 2.0 - 1.0;
    page = origin.x;
    start = origin.yz;
    extent = rest.xy;
    bool own = rest.z >= 0.0;
    frame = own ? vec4(palette[int(rest.z)].rgb, 1.0) : vec4(0.0);
    halves = vec2(middle.z, own ? clamp(middle.z * 0.1, 1.5, 4.0) : 1.0);
    seen = rest.w;
  }`,
  fragment: `#version 300 es
  precision highp float;
  precision highp sampler2DArray;
  uniform sampler2DArray pages;
  uniform vec3 card;
  uniform vec3 border;
  in vec2 local;
  flat in vec2 start;
  flat in vec2 extent;
  flat in float page;
  flat in vec2 halves;
  flat in vec4 frame;
  flat in float seen;
  out vec4 painted;
  void main() {
    float radius = min(6.0, halves.x * 0.3);
    vec2 from = abs(local) * halves.x - halves.x + radius;
    float outside = length(max(from, 0.0)) + min(max(from.x, from.y), 0.0) - radius;
    float cover = clamp(0.5 - outside, 0.0, 1.0) * seen;
    vec3 colour = frame.a > 0.0 ? frame.rgb : border;
    if (outside < -halves.y) {
      // Within the frame the picture keeps its proportions, on a card.
      vec2 inner = local * halves.x / (halves.x - halves.y);
      vec2 at = inner * max(extent.x, extent.y) / extent * 0.5 + 0.5;
      vec2 texel = start + clamp(at * extent, vec2(0.5), extent - 0.5);
      vec4 shown = textureLod(pages, vec3(texel / 512.0, page), 0.0);
      bool there = all(lessThan(abs(at - 0.5), vec2(0.5)));
      colour = there ? shown.rgb + card * (1.0 - shown.a) : card;
    }
    painted = vec4(colour * cover, cover);
  }`,
};
