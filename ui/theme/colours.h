// Colours of the workbench: one table per appearance, and the colours of flame graph frames.
// Owner: ui/theme. Thread: plain values, any.
//
// Frame hues follow the part of the step and stay apart for the common kinds of colour blindness (after Okabe and Ito,
// 2008); the name decides the shade. What has no part, as the functions of other tools' profiles, takes its hue from the
// category of its file, or else from its name. All depends on nothing but the arguments, so that a name keeps its colour
// in every file, window and run.
#pragma once

#include <QColor>
#include <QPalette>
#include <QStringView>

namespace stepscope::theme {

// What a frame stands for. The views map the colour classes of core/present to it, one to one and in this order.
enum class FrameRole {
    root,
    step,
    setup,
    dataWait,
    hostToDevice,
    forward,
    loss,
    backward,
    optimiser,
    deviceToHost,
    loading,
    evaluation,
    naive,     // deliberately naive code
    slow,      // reference implementations and layout conversions
    creation,  // making primitives
    allocation, // allocator, page faults
    waiting,    // off the processor
    generated,  // code made at run time
    library,
    kernelMode, // in the operating system
    ownCode,    // of the program itself
    remainder, // what no probe covers
    other,
    operation, // of a framework, in traces of other tools
    call,      // into the runtime of a device
    kernel,
    copy,
    annotation,
};
inline constexpr int kFrameRoleCount = 28;

struct Colours {
    bool dark = false;
    QColor window, panel, base, alternate; // from the back to the front
    QColor text, dimText, disabledText;
    QColor line, strongLine;
    QColor accent, accentText, selection, selectionText;
    QColor good, warning, error;           // as text or marks on `base`
    QColor bar, barDisturbed, median, tail; // histogram
    QColor match;                          // search hits
};

const Colours& lightColours();
const Colours& darkColours();

struct FrameColours {
    QColor fill;
    QColor text;
};
// Fill of a frame and the text colour on it; their contrast is at least 4.5 : 1.
// `family` matters for FrameRole::other: names of one family share a hue; "": the name is its own family.
FrameColours frameColours(bool dark, FrameRole role, QStringView name, QStringView family = {});
// The middle shade of a role, for legends.
QColor roleColour(bool dark, FrameRole role);
// One of the hues of FrameRole::other, for legends; any number from 0.
QColor familyColour(bool dark, int family);

// Contrast ratio by WCAG 2.1, 1 to 21.
double contrastRatio(const QColor& a, const QColor& b);
// Black or white with a contrast of at least 4.5 : 1; the preferred one where both would do.
QColor readableOn(const QColor& fill, bool preferWhite);
// FNV-1a of the UTF-8 bytes: equal in every process.
quint32 stableHash(QStringView text);

QPalette toPalette(const Colours& colours);

} // namespace stepscope::theme
